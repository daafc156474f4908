"""Graphs, and what they are as matrices, for the models on all pairs of nodes."""

import torch
from torch_geometric.data import Batch, Data

from tests.reference import dense_graph


def naive_input(x, edge_index, inputs='diagonal'):
    """The input of one graph, entry by entry, of shape `[channels, n, n]`."""
    number, channels = x.shape
    adjacency = torch.zeros(number, number, dtype=x.dtype)
    for source, target in edge_index.t().tolist():
        adjacency[source, target] += 1
    degree = adjacency.sum(dim=0)
    rows = []
    for c in range(1 if inputs == 'adjacency' else 1 + channels):
        matrix = torch.zeros(number, number, dtype=x.dtype)
        for i in range(number):
            for j in range(number):
                if adjacency[i, j] > 0 and degree[i] > 0 and (c == 0 or inputs == 'spread'):
                    matrix[i, j] += adjacency[i, j] / (degree[i] * degree[j]).sqrt()
            if c > 0:
                matrix[i, i] += x[i, c - 1]
        rows.append(matrix)
    return torch.stack(rows)


def some_graphs(channels=3):
    """Graphs of several sizes: without edges, of one node, with a loop and a doubled edge."""
    generator = torch.Generator().manual_seed(0)
    edges = [
        dense_graph(6),
        torch.empty(2, 0, dtype=torch.long),
        torch.empty(2, 0, dtype=torch.long),
        torch.tensor([[0, 1, 0, 1, 1, 2, 3], [1, 0, 1, 0, 2, 1, 3]]),
        dense_graph(7, seed=3),
    ]
    return [
        Data(
            x=torch.randn(size, channels, generator=generator, dtype=torch.double),
            edge_index=edge_index,
        )
        for size, edge_index in zip((6, 3, 1, 5, 7), edges, strict=True)
    ]


def gradients(loss, tensors):
    return torch.autograd.grad(loss, tensors, materialize_grads=True)


def assert_batch_equals_single_graphs(model, for_nodes):
    graphs = some_graphs()
    batch = Batch.from_data_list(graphs)
    x = batch.x.requires_grad_()
    out = model(x, batch.edge_index, batch.batch, batch.num_graphs)
    weight = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(1))
    together = gradients((out * weight).sum(), [x, *model.parameters()])

    rows, leaves = [], [graph.x.clone().requires_grad_() for graph in graphs]
    for graph, leaf in zip(graphs, leaves, strict=True):
        rows.append(model(leaf, graph.edge_index))
        assert rows[-1].size(0) == (len(leaf) if for_nodes else 1)
    single = torch.cat(rows)
    torch.testing.assert_close(out, single, rtol=1e-12, atol=1e-12)
    alone = gradients((single * weight).sum(), [*leaves, *model.parameters()])
    alone = [torch.cat(alone[: len(leaves)]), *alone[len(leaves) :]]
    for ours, other in zip(together, alone, strict=True):
        torch.testing.assert_close(ours, other, rtol=1e-10, atol=1e-10)


def assert_numbering_does_not_matter(model, for_nodes):
    graph = some_graphs()[4]
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    place = order.argsort()
    out = model(graph.x, graph.edge_index)
    other = model(graph.x[order], place[graph.edge_index])
    torch.testing.assert_close(other, out[order] if for_nodes else out, rtol=1e-12, atol=1e-12)
