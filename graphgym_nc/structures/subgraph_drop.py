"""Fewer rooted subgraphs for training, and what stands in for those that are left out."""

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.structures.data import attach
from graphgym_nc.structures.subgraphs import Subgraphs


class SubgraphDrop(BaseTransform):
    r"""Chooses some of the rooted subgraphs of a graph, or of a batch, for training: a covering
    subset, drawn anew each time, after the `"From Stars to Subgraphs: Uplifting Any GNN with Local
    Structure Awareness" <https://arxiv.org/abs/2110.03753>`_ paper.

    Every node is in :obj:`redundancy` of those chosen, or in all that it was in if these are fewer.
    A node without a subgraph gets the mean of its neighbours that are one step nearer to those
    that have one. They have got theirs in the same way.

    All subgraphs stay beside those chosen, for evaluation.

    Args:
        redundancy: In how many subgraphs every node is to be.
    """

    random = True

    def __init__(self, redundancy: int) -> None:
        self.redundancy = redundancy

    def forward(self, data: Data) -> Data:
        subgraphs = Subgraphs.of(data)
        chosen = covering_roots(subgraphs, self.redundancy)
        kept = keep_roots(subgraphs, chosen, data.edge_index)
        return attach(data, kept.tensors('drop'))

    def __repr__(self) -> str:
        return f'{type(self).__name__}(redundancy={self.redundancy})'


def covering_roots(subgraphs: Subgraphs, redundancy: int) -> Tensor:
    """Chooses roots until all nodes are in enough of their subgraphs: each time, all those whose
    subgraphs have more nodes to cover than any that shares such a node with them. Equals are
    told apart at random.

    Returns:
        Which nodes are chosen, of shape :obj:`[num_nodes]`.
    """
    index, root, num_nodes = subgraphs.index, subgraphs.root_index, subgraphs.root_row.numel()
    missing = torch.bincount(index, minlength=num_nodes).clamp(max=redundancy)
    chosen = torch.zeros(num_nodes, dtype=torch.bool, device=index.device)
    while True:
        counts = (missing[index] > 0) & ~chosen[root]
        node, of_root = index[counts], root[counts]
        if node.numel() == 0:
            return chosen
        gain = torch.bincount(of_root, minlength=num_nodes).double()
        gain += torch.rand(num_nodes, dtype=torch.double, device=index.device)
        most = torch.zeros_like(gain).scatter_reduce(0, node, gain[of_root], 'amax')
        beaten = of_root[gain[of_root] < most[node]]
        new = gain >= 1
        new[beaten] = False
        chosen |= new
        missing -= torch.bincount(index[new[root]], minlength=num_nodes)


def keep_roots(subgraphs: Subgraphs, chosen: Tensor, edge_index: Tensor) -> Subgraphs:
    """Leaves out all subgraphs but those of the chosen roots.

    Args:
        subgraphs: The subgraphs of all nodes.
        chosen: Which nodes are to keep theirs, of shape :obj:`[num_nodes]`.
        edge_index: The edges of the graph.
    """
    row_kept = chosen[subgraphs.root_index]
    edge_kept = row_kept[subgraphs.edge_index[1]]
    new_row = row_kept.cumsum(0) - 1
    index, num_nodes = subgraphs.index[row_kept], chosen.numel()
    root_row = new_row[subgraphs.root_row[chosen]]
    means = _nearest_means(chosen, edge_index)
    to, of_root = means.indices()
    before = torch.bincount(subgraphs.index, minlength=num_nodes)
    return replace(
        subgraphs,
        index=index,
        edge=subgraphs.edge[edge_kept],
        edge_index=new_row[subgraphs.edge_index[:, edge_kept]],
        root_index=subgraphs.root_index[row_kept],
        root_row=root_row,
        hop=subgraphs.hop[row_kept],
        est_index=to,
        est_row=new_row[subgraphs.root_row[of_root]],
        est_weight=means.values(),
        scale=before / torch.bincount(index, minlength=num_nodes),
    )


def _nearest_means(chosen: Tensor, edge_index: Tensor) -> Tensor:
    """Nodes times nodes: of which chosen nodes, by which weights, every node gets its own."""
    node, size = chosen.nonzero().flatten(), [chosen.numel()] * 2
    last = _matrix(node, node, torch.ones(node.numel(), device=node.device), size)
    known, total = chosen, last
    while True:
        # An edge leads from a node to a root that has it in its subgraph.
        to, nearer = edge_index[:, known[edge_index[1]] & ~known[edge_index[0]]]
        if to.numel() == 0:
            return total.coalesce()
        weight = 1 / torch.bincount(to, minlength=size[0])[to]
        last = torch.sparse.mm(_matrix(to, nearer, weight, size), last)
        total = total + last
        known = known.index_fill(0, to, True)


def _matrix(row: Tensor, col: Tensor, value: Tensor, size: list[int]) -> Tensor:
    return torch.sparse_coo_tensor(torch.stack([row, col]), value, size, check_invariants=False)
