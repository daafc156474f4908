"""NC-1-WL and its neighbours: what a model can and cannot tell apart."""

from graphgym_nc.wl.graph6 import read_graph6
from graphgym_nc.wl.isomorphism import (
    ALGORITHMS,
    color_refinement,
    colorings,
    distinguishes,
    wl_classes,
)

__all__ = [
    'ALGORITHMS',
    'color_refinement',
    'colorings',
    'distinguishes',
    'read_graph6',
    'wl_classes',
]
