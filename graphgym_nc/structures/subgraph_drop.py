"""Fewer rooted subgraphs for training, and what stands in for those that are left out."""

from dataclasses import replace

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphgym_nc.structures.data import attach
from graphgym_nc.structures.subgraphs import Subgraphs


class SubgraphDrop(BaseTransform):
    r"""Chooses some of the rooted subgraphs of a graph, or of a batch, for training: a covering
    subset, drawn anew each time, after the `"From Stars to Subgraphs: Uplifting Any GNN with Local
    Structure Awareness" <https://arxiv.org/abs/2110.03753>`_ paper.

    Every node is in :obj:`redundancy` of those chosen, or in all that it was in if these are
    fewer. A node without a subgraph gets the mean of its neighbours that are one step nearer to
    those that have one. They have got theirs in the same way.

    All subgraphs stay beside those chosen. They are what is evaluated.

    Args:
        redundancy: In how many subgraphs every node is to be.
    """

    random = training_only = True

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
        new[of_root[gain[of_root].argmax()]] = True  # as it is; so each round chooses one at least
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
    to, of_root, weight = (
        torch.from_numpy(values).to(index.device) for values in (*means.coords, means.data)
    )
    before = torch.bincount(subgraphs.index, minlength=num_nodes)
    return replace(
        subgraphs,
        index=index,
        edge=subgraphs.edge[edge_kept],
        edge_index=new_row[subgraphs.edge_index[:, edge_kept]],
        root_index=subgraphs.root_index[row_kept],
        root_row=root_row,
        hop=subgraphs.hop[row_kept],
        est_index=to.long(),
        est_row=new_row[subgraphs.root_row[of_root.long()]],
        est_weight=weight,
        scale=before / torch.bincount(index, minlength=num_nodes),
    )


def _nearest_means(chosen: Tensor, edge_index: Tensor) -> coo_array:
    """Nodes times nodes: of which chosen nodes, by which weights, every node gets its own."""
    known, (source, target), size = chosen.cpu().numpy(), edge_index.cpu().numpy(), chosen.numel()
    nodes = known.nonzero()[0]
    total = last = csr_array((np.ones(nodes.size, np.float32), (nodes, nodes)), (size, size))
    while True:
        # An edge leads from a node to a root that has it in its subgraph.
        step = known[target] & ~known[source]
        if not step.any():
            return total.tocoo()
        to = source[step]
        weight = 1 / np.bincount(to, minlength=size)[to].astype(np.float32)
        last = csr_array((weight, (to, target[step])), (size, size)) @ last
        total, known = total + last, known.copy()
        known[to] = True
