import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.structures.data import INDICES, attach, check_size
from graphgym_nc.triangles.listing import find_triangles
from graphgym_nc.triangles.simple_graph import plain, simple_graph

INDICES['state_triangle_index'] = 'state_index'
INDICES['edge_state'] = 'state_index'


class EdgeNeighbourhoods(BaseTransform):
    r"""Attaches what :class:`~graphgym_nc.nn.peers.EBGNN` needs to know of a graph: its states,
    and which of them form triangles.

    There is a state for both directions of every edge of the undirected simple graph: self-loops
    are dropped, duplicate edges merged, and a directed edge counts as an undirected one. A node
    without edges counts as an edge from itself to itself, so that it is not lost.

    It attaches

    * :obj:`state_index`, of shape :obj:`[2, S]`: both ends of every state, in lexicographic
      order. Of an undirected graph whose edges are sorted, without loops and isolated nodes,
      this is :obj:`edge_index`.
    * :obj:`state_triangle_index`, of shape :obj:`[6, T]`: the states :math:`(a, b)`,
      :math:`(b, a)`, :math:`(a, c)`, :math:`(c, a)`, :math:`(b, c)`, :math:`(c, b)` of every
      triangle. This takes 48 bytes for each.
    * :obj:`edge_state`, of shape :obj:`[E]`, if there are edge features: the state of every
      column of :obj:`edge_index` (for a loop, the first of its node's).
    """

    def forward(self, data: Data) -> Data:
        if data.edge_index is None:
            raise ValueError(f"'{self}' needs 'data.edge_index', which {data} does not have")
        assert data.num_nodes is not None
        edge_index, num_nodes = plain(data.edge_index).long(), data.num_nodes
        key = _state_keys(edge_index, num_nodes)
        tensors = {'state_index': torch.stack([key // num_nodes, key % num_nodes])}

        a, b, c = find_triangles(edge_index, num_nodes)
        check_size(2 * 6 * a.nbytes, 'the states of the triangles')
        pairs = torch.stack([a, b, a, c, b, c]), torch.stack([b, a, c, a, c, b])
        tensors['state_triangle_index'] = torch.searchsorted(key, pairs[0] * num_nodes + pairs[1])
        if data.edge_attr is not None:
            source, target = edge_index
            column = source * num_nodes + target.masked_fill(source == target, 0)
            tensors['edge_state'] = torch.searchsorted(key, column)
        return attach(data, tensors)

    def __repr__(self) -> str:
        return f'{type(self).__name__}()'


def _state_keys(edge_index: Tensor, num_nodes: int) -> Tensor:
    """The keys :math:`u n + v` of all states, ascending."""
    u, v = simple_graph(edge_index, num_nodes).edge_index
    is_isolated = torch.ones(num_nodes, dtype=torch.bool, device=u.device)
    is_isolated[u] = False
    is_isolated[v] = False
    isolated = is_isolated.nonzero().view(-1)
    source, target = torch.cat([u, v, isolated]), torch.cat([v, u, isolated])
    return (source * num_nodes + target).sort().values
