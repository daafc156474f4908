"""What the layers must compute, written down as slowly and plainly as possible."""

from itertools import combinations

import hypothesis.strategies as st
import torch
from torch import Tensor


def neighbours(edge_index: Tensor, num_nodes: int) -> list[set[int]]:
    adjacent: list[set[int]] = [set() for _ in range(num_nodes)]
    for u, v in edge_index.t().tolist():
        if u != v:
            adjacent[u].add(v)
            adjacent[v].add(u)
    return adjacent


def naive_triangles(edge_index: Tensor, num_nodes: int) -> list[tuple[int, ...]]:
    adjacent = neighbours(edge_index, num_nodes)
    return [
        (a, b, c)
        for a, b, c in combinations(range(num_nodes), 3)
        if b in adjacent[a] and c in adjacent[a] and c in adjacent[b]
    ]


def naive_messages(edge_index: Tensor, num_nodes: int) -> list[tuple[int, int, int]]:
    """All (receiver, u1, u2) with the edge {u1, u2} among the receiver's neighbours."""
    adjacent = neighbours(edge_index, num_nodes)
    return [
        (v, u1, u2)
        for v in range(num_nodes)
        for u1, u2 in combinations(sorted(adjacent[v]), 2)
        if u2 in adjacent[u1]
    ]


def naive_edge_attr(edge_index: Tensor, edge_attr: Tensor, u1: int, u2: int) -> Tensor:
    copies = [
        edge_attr[i] for i, (s, t) in enumerate(edge_index.t().tolist()) if {s, t} == {u1, u2}
    ]
    return torch.stack(copies).mean(dim=0)


def naive_conv(conv, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
    """NC-GNN with every one of its 3T messages materialised."""
    out = [(1 + conv.eps) * row for row in x]
    lin = getattr(conv, 'lin', None)
    if edge_attr is not None and lin is not None:
        edge_attr = lin(edge_attr)
    for i, (source, target) in enumerate(edge_index.t().tolist()):
        message = x[source] if edge_attr is None else (x[source] + edge_attr[i]).relu()
        out[target] = out[target] + message

    messages = naive_messages(edge_index, x.size(0))
    if messages:
        rows = []
        for _, u1, u2 in messages:
            row = x[u1] + x[u2]
            if edge_attr is not None:
                row = row + naive_edge_attr(edge_index, edge_attr, u1, u2)
            rows.append(row)
        received: dict[int, list[Tensor]] = {}
        for (v, _, _), z in zip(messages, conv.nn_communicate(torch.stack(rows)), strict=True):
            received.setdefault(v, []).append(z)
        for v, of_node in received.items():
            out[v] = out[v] + naive_aggregation(conv, of_node)
    return conv.nn(torch.stack(out))


def naive_aggregation(conv, of_node: list[Tensor]) -> Tensor:
    """What a node makes of its messages."""
    names = {'add': 0.0, 'sqrt': 0.5, 'mean': 1.0, 'learned': conv.aggregation.power}
    power = names.get(conv.communicate_aggr, conv.communicate_aggr)
    number = torch.tensor(len(of_node), dtype=torch.double)
    out = sum(of_node) / number**power
    if conv.communicate_log:
        out = out + torch.log(number + 1) * conv.aggregation.log_weight
    return out


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 12, min_nodes: int = 1) -> tuple[Tensor, int]:
    """Graphs with loops, duplicate, directed and missing edges, and isolated nodes."""
    num_nodes = draw(st.integers(min_nodes, max_nodes))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=4 * num_nodes))
    edges += draw(st.lists(st.sampled_from(edges), max_size=4)) if edges else []
    return torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t().contiguous(), num_nodes


def dense_graph(num_nodes: int = 9, p: float = 0.6, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    upper = torch.rand(num_nodes, num_nodes, generator=generator).triu(1) > 1 - p
    return (upper | upper.t()).nonzero().t().contiguous()


@st.composite
def graphs_with_twins(draw) -> tuple[Tensor, int]:
    """Graphs each of whose nodes has become a clique, joined to all of its
    neighbours'.
    """
    edge_index, num_nodes = draw(graphs())
    sizes = draw(st.lists(st.integers(1, 3), min_size=num_nodes, max_size=num_nodes))
    origin = [v for v, size in enumerate(sizes) for _ in range(size)]
    origin = draw(st.permutations(origin))
    adjacent = neighbours(edge_index, num_nodes)
    edges = [
        (u, v)
        for u, v in combinations(range(len(origin)), 2)
        if origin[u] == origin[v] or origin[u] in adjacent[origin[v]]
    ]
    return torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t(), len(origin)
