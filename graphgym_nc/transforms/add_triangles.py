from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.triangles.checksum import triangle_check
from graphgym_nc.triangles.listing import find_triangles


class AddTriangles(BaseTransform):
    r"""Attaches the triangles of a graph as :obj:`data.triangle_index`, of
    shape :obj:`[3, T]`.

    See :meth:`graphgym_nc.find_triangles` for what counts as a triangle.

    Layers in GraphGym use them where torch computes: on a GPU, without numba, and with
    :obj:`nc.kernel: torch`. Compiled kernels on the CPU find the triangles anew, which takes
    less time than to check that these still belong to the edges. A layer of
    :mod:`graphgym_nc.nn` uses whatever triangles it is given.

    :obj:`data.triangle_check`, of shape :obj:`[1]`, notes which edges the
    triangles were found on, so that they are never used for others. It should
    be the last of several transforms: others (such as
    :class:`~torch_geometric.transforms.RemoveIsolatedNodes`) take
    :obj:`triangle_index` for a feature of nodes or edges where there happen to
    be as many triangles.
    """

    def forward(self, data: Data) -> Data:
        if not isinstance(data, Data):
            raise TypeError(
                f"'{self}' expects a homogeneous graph (got '{type(data).__name__}'); "
                f"convert it with 'data.to_homogeneous()' first"
            )
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        data.triangle_index = find_triangles(data.edge_index, data.num_nodes)
        data.triangle_check = triangle_check(data.edge_index, data.triangle_index)
        return data
