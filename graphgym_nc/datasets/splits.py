"""Divides graphs or nodes into training, validation and test."""

from collections.abc import Sequence

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import Tensor


def ratio_split(
    size: int, ratios: Sequence[float], seed: int, shuffle: bool = True
) -> list[Tensor]:
    """Splits indices by ratios.

    Args:
        size: The number of items.
        ratios: The share of every part; together at most 1.
        seed: The seed of the shuffling.
        shuffle: Whether to shuffle, or to cut in order.

    Returns:
        The indices of every part, ascending.

    Raises:
        ValueError: If the ratios are no shares, or leave a part empty.
    """
    if min(ratios) <= 0 or sum(ratios) > 1 + 1e-9:
        raise ValueError(f'{list(ratios)} are no shares of a whole')
    order = np.arange(size)
    if shuffle:
        order = np.random.default_rng(seed).permutation(size)
    cuts = np.round(np.cumsum(ratios) * size).astype(int)
    parts = np.split(order[: cuts[-1]], cuts[:-1])
    if min(map(len, parts)) == 0:
        raise ValueError(f'{size} items are too few for the shares {list(ratios)}')
    return [torch.from_numpy(np.sort(part)) for part in parts]


def stratified_fold(labels: Tensor, num_folds: int, fold: int, seed: int = 0) -> list[Tensor]:
    """One fold of a stratified cross-validation, as in GIN's protocol: all other
    folds are for training, this one for validation, and there is no test.

    Args:
        labels: The class of every item.
        num_folds: The number of folds.
        fold: Which of them.
        seed: The seed of the shuffling, the same for all folds.

    Raises:
        ValueError: If there is no such fold.
    """
    if not 0 <= fold < num_folds:
        raise ValueError(f'there is no fold {fold} of {num_folds}')
    folds = StratifiedKFold(num_folds, shuffle=True, random_state=seed)
    train, held_out = list(folds.split(np.zeros(len(labels)), labels.numpy()))[fold]
    return [torch.from_numpy(train), torch.from_numpy(held_out)]
