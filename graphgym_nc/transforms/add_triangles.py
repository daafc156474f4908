from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.fingerprint import edge_fingerprint
from graphgym_nc.triangles import find_triangles


class AddTriangles(BaseTransform):
    r"""Attaches the triangles of a graph as :obj:`data.triangle_index`, of
    shape :obj:`[3, T]`.

    See :meth:`graphgym_nc.find_triangles` for what counts as a triangle.
    :obj:`data.triangle_check`, of shape :obj:`[1]`, notes which edges the
    triangles were found on, so that they are never used for others.
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
        data.triangle_check = edge_fingerprint(data.edge_index)
        return data
