"""Data sets that PyG lacks, and splits.

Imports :mod:`~graphgym_nc.utils`.
"""

from graphgym_nc.datasets.counting_files import CountingFile, load_counting
from graphgym_nc.datasets.official_sbm import OfficialSBM, load_sbm
from graphgym_nc.datasets.sbm import GeneratedSBM
from graphgym_nc.datasets.triangle_counting import TriangleCounting
from graphgym_nc.datasets.tu import load_tu

__all__ = [
    'CountingFile',
    'GeneratedSBM',
    'OfficialSBM',
    'TriangleCounting',
    'load_counting',
    'load_sbm',
    'load_tu',
]
