import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.triangles.listing import find_triangles


class AddTriangleCount(BaseTransform):
    """Appends to the features of every node the number of triangles that it is
    a corner of.

    See :meth:`graphgym_nc.find_triangles` for what counts as a triangle.
    """

    def forward(self, data: Data) -> Data:
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        num_nodes = data.num_nodes
        corners = find_triangles(data.edge_index, num_nodes).view(-1)
        count = torch.bincount(corners, minlength=num_nodes).view(-1, 1)
        if data.x is None:
            data.x = count.float()
        else:
            features = data.x.view(num_nodes, -1)
            data.x = torch.cat([features, count.to(features.dtype)], dim=1)
        return data
