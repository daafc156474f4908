"""Data sets that PyG lacks, and splits.

Imports :mod:`~graphgym_nc.utils`.
"""

from typing import TYPE_CHECKING, Any

from graphgym_nc.datasets.counting_files import CountingFile, load_counting
from graphgym_nc.datasets.official_sbm import OfficialSBM, load_sbm
from graphgym_nc.datasets.sbm import GeneratedSBM
from graphgym_nc.datasets.triangle_counting import TriangleCounting
from graphgym_nc.datasets.tu import load_tu

if TYPE_CHECKING:
    from graphgym_nc.datasets.ogb_graphs import OGBGraphs

__all__ = [
    'CountingFile',
    'GeneratedSBM',
    'OGBGraphs',
    'OfficialSBM',
    'TriangleCounting',
    'load_counting',
    'load_sbm',
    'load_tu',
]


def __getattr__(name: str) -> Any:
    if name != 'OGBGraphs':
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from graphgym_nc.datasets.ogb_graphs import OGBGraphs  # OGB's import asks the network

    return OGBGraphs
