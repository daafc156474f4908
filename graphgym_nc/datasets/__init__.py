from graphgym_nc.datasets.official_sbm import OfficialSBM, load_sbm
from graphgym_nc.datasets.sbm import GeneratedSBM
from graphgym_nc.datasets.triangle_counting import TriangleCounting

__all__ = ['GeneratedSBM', 'OfficialSBM', 'TriangleCounting', 'load_sbm']
