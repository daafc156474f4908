"""BREC: 400 pairs of graphs that 1-WL cannot part.

From the `"An Empirical Study of Realized GNN Expressiveness"
<https://arxiv.org/abs/2304.07702>`_ paper.
"""

from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

Pair: TypeAlias = tuple[str, str]


class Category(NamedTuple):
    """One part of BREC.

    Attributes:
        file: The name of its file, without :obj:`.npy`.
        title: Its name.
        num_pairs: The number of its pairs.
    """

    file: str
    title: str
    num_pairs: int


CATEGORIES = (
    Category('basic', 'basic', 60),
    Category('regular', 'regular', 50),
    Category('str', 'strongly regular', 50),
    Category('extension', 'extension', 100),
    Category('cfi', 'CFI', 100),
    Category('4vtx', '4-vertex condition', 20),
    Category('dr', 'distance regular', 20),
)


def load_brec(root: str | Path) -> dict[str, list[Pair]]:
    """Loads BREC's pairs as graph6 strings, by the file of their category.

    Args:
        root: The folder of BREC's :obj:`.npy` files.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file does not hold the pairs that it should.
    """
    return {category.file: _load(Path(root), category) for category in CATEGORIES}


def _load(root: Path, category: Category) -> list[Pair]:
    path = root / f'{category.file}.npy'
    if not path.is_file():
        raise FileNotFoundError(f"BREC's file '{path}' is missing")
    array = np.load(path, allow_pickle=False)
    if array.size != 2 * category.num_pairs or array.dtype.kind not in 'SU':
        raise ValueError(
            f"'{path}' must hold {category.num_pairs} pairs of graph6 strings "
            f'(got an array of {array.dtype} in shape {list(array.shape)})'
        )
    text = array.astype(str).reshape(-1, 2)
    return [(str(first), str(second)) for first, second in text]
