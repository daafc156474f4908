from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from graphgym_nc.datasets.generated import GeneratedDataset
from graphgym_nc.datasets.subgraph_counts import set_targets

_REGULAR = ((10, 6), (15, 6), (20, 5), (30, 5))  # nodes, degree


class TriangleCounting(GeneratedDataset):
    r"""Random graphs whose triangles, or other subgraphs, are to be counted, after `"Can Graph
    Neural Networks Count Substructures?" <https://arxiv.org/abs/2002.04025>`_
    (Chen et al., 2020).

    Every other graph is an Erdos-Renyi graph of 10 nodes and density 0.3; the
    others are random regular graphs of 10, 15, 20 or 30 nodes and degree 6, 6,
    5 or 5, less as many random edges as they have nodes. All nodes have the
    same feature. The target :obj:`y` is the number of subgraphs, divided by
    its standard deviation over all graphs.

    Args:
        root: Where data sets are kept; this one takes a folder of its own.
        num_graphs: The number of graphs; 30 % of them are for training, 20 %
            for validation, 50 % for testing.
        seed: The seed.
        target: What is counted: see :mod:`graphgym_nc.datasets.subgraph_counts`.
        transform: A transform for every access.
        first: Draw so many graphs of each split at most, and keep no file.
    """

    def __init__(
        self,
        root: str | Path,
        num_graphs: int = 5000,
        seed: int = 0,
        target: str = 'triangle',
        transform: Callable[[Any], Any] | None = None,
        first: int | None = None,
    ) -> None:
        if num_graphs < 10:
            raise ValueError(f"'num_graphs' is {num_graphs}, but must be at least 10")
        self.seed, self.target = seed, target
        train, val = num_graphs * 3 // 10, num_graphs * 2 // 10
        sizes = (train, val, num_graphs - train - val)
        folder = f'triangle_counting_generated_{num_graphs}_seed{seed}'
        if target != 'triangle':
            folder += f'_{target}'
        super().__init__(Path(root) / folder, sizes, transform, first)
        self.source = f'generated, seed {seed}'

    def draw_graph(self, split: int, number: int) -> Data:
        i = sum(self.sizes[:split]) + number
        return _draw(np.random.default_rng((self.seed, i)), regular=i % 2 == 1)

    def draw(self) -> Iterator[Data]:
        graphs = list(super().draw())
        set_targets(graphs, self.target, normalise=not self.partial)
        yield from graphs

    def __repr__(self) -> str:
        return f'{type(self).__name__}({len(self)})'


def _draw(rng: np.random.Generator, regular: bool) -> Data:
    if regular:
        num_nodes, degree = _REGULAR[rng.integers(len(_REGULAR))]
        graph = nx.random_regular_graph(degree, num_nodes, seed=int(rng.integers(2**31)))
        edges = np.array(graph.edges)
        edges = edges[rng.permutation(len(edges))[num_nodes:]]
    else:
        num_nodes = 10
        edges = np.argwhere(np.triu(rng.random((num_nodes, num_nodes)) < 0.3, k=1))
    edge_index = torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
    return Data(x=torch.ones(num_nodes, 1), edge_index=edge_index, num_nodes=num_nodes)
