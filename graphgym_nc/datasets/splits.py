"""Divides graphs or nodes into training, validation and test."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold, train_test_split
from torch import Tensor

_MODE = re.compile(r'(cv-stratified-([2-9]|[1-9]\d+)|gin-folds)(-inner)?')


class Folds(NamedTuple):
    """A way to divide graphs for cross-validation.

    Attributes:
        number: The number of folds.
        files: Whether they are those of GIN's files.
        inner: Whether the fold is for testing, and a validation set is cut from the rest.
    """

    number: int
    files: bool
    inner: bool

    @staticmethod
    def of(mode: str) -> 'Folds | None':
        """What a value of :obj:`dataset.split_mode` stands for, if it is cross-validation."""
        match = _MODE.fullmatch(mode)
        if match is None:
            return None
        return Folds(int(match[2] or 10), match[2] is None, match[3] is not None)


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


def stratified_fold(labels: Tensor, num_folds: int, fold: int) -> list[Tensor]:
    """One fold of a stratified cross-validation, as in GIN's protocol: all other
    folds are for training, this one for validation, and there is no test.

    Args:
        labels: The class of every item.
        num_folds: The number of folds.
        fold: Which of them.

    Raises:
        ValueError: If there is no such fold.
    """
    if not 0 <= fold < num_folds:
        raise ValueError(f'there is no fold {fold} of {num_folds}')
    folds = StratifiedKFold(num_folds, shuffle=True, random_state=0)
    train, held_out = list(folds.split(np.zeros(len(labels)), labels.numpy()))[fold]
    return [torch.from_numpy(train), torch.from_numpy(held_out)]


def gin_fold(folder: Path, size: int, fold: int) -> list[Tensor]:
    """One of the ten folds that come with GIN's data, as files of indices: training, and
    what is held out. GIN's own code does not read them; that of others does.

    Args:
        folder: The folder :obj:`10fold_idx` of the data set.
        size: The number of graphs.
        fold: Which of them, from 0.

    Raises:
        FileNotFoundError: If there are no such files.
        ValueError: If there is no such fold, or it is not one of so many graphs.
    """
    if not 0 <= fold < 10:
        raise ValueError(f'there is no fold {fold} of 10')
    parts = []
    for name in ('train', 'test'):
        path = folder / f'{name}_idx-{fold + 1}.txt'
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no '{path}'; put the folder 10fold_idx of this data set there, from "
                f'dataset.zip of https://github.com/weihua916/powerful-gnns, or take the folds '
                f"that GIN's own code draws, 'cv-stratified-10'"
            )
        parts.append(np.loadtxt(path, dtype=np.int64, ndmin=1))
    together = np.concatenate(parts)
    if len(np.unique(together)) < len(together) or together.min() < 0 or together.max() >= size:
        raise ValueError(f"the indices in '{folder}' are no folds of {size} graphs")
    return [torch.from_numpy(np.sort(part)) for part in parts]


def inner_validation(parts: Sequence[Tensor], labels: Tensor) -> list[Tensor]:
    """Cuts a validation set from the training part of a fold: a tenth of it, with as many
    of each class. What is held out is then a test, which no choice has seen.

    Args:
        parts: The indices for training, and of what is held out.
        labels: The class of every item.
    """
    rest, test = parts
    train, val = train_test_split(
        rest.numpy(), test_size=0.1, stratify=labels[rest].numpy(), random_state=0
    )
    return [torch.from_numpy(np.sort(train)), torch.from_numpy(np.sort(val)), test]
