"""Graphs in a file, whose subgraphs are to be counted; and what to do without the file."""

import logging
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data, InMemoryDataset

from graphgym_nc.datasets.subgraph_counts import set_targets
from graphgym_nc.datasets.triangle_counting import TriangleCounting
from graphgym_nc.utils.split_names import SPLITS

#: The files of graphs, by the name that :meth:`load_counting` knows them by: the two sets of
#: `"Can Graph Neural Networks Count Substructures?" <https://arxiv.org/abs/2002.04025>`_
#: (Chen et al., 2020). The first is the one that GNN-AK and others have published figures on.
FILES = ('regular', 'erdos_renyi')

_PUBLISHED_SIZE = 5000


class CountingFile(InMemoryDataset):
    """Graphs in a file, with the number of some subgraph of each.

    All nodes have the same feature. The target :obj:`y` is the number of subgraphs, divided
    by its standard deviation over all graphs.

    Args:
        path: An :obj:`.npz` file, which has the graphs as graph6 strings in :obj:`graphs`, and
            the indices of every split in :obj:`train`, :obj:`val` and :obj:`test`.
        target: What is counted: see :mod:`~graphgym_nc.datasets.subgraph_counts`.
    """

    def __init__(self, path: Path, target: str = 'triangle') -> None:
        super().__init__()
        with np.load(path, allow_pickle=False) as file:
            graphs = [_read(text) for text in file['graphs'].tolist()]
            self.split_idxs = [torch.from_numpy(file[split]) for split in SPLITS]
        set_targets(graphs, target)
        self.data, self.slices = self.collate(graphs)
        self.source = f'the graphs of {path.name}'

    def __repr__(self) -> str:
        return f'{type(self).__name__}({len(self)})'


def load_counting(
    root: str | Path,
    source: str = 'auto',
    target: str = 'triangle',
    num_graphs: int = _PUBLISHED_SIZE,
    seed: int = 0,
    first: int | None = None,
) -> CountingFile | TriangleCounting:
    """Loads graphs whose subgraphs are to be counted, and says loudly which graphs they are.

    Args:
        root: Where data sets are kept; files are in :obj:`TriangleCounting/raw`.
        source: One of :data:`FILES`, or :obj:`"generated"` for graphs that are drawn.
            :obj:`"auto"` stands for the first file if it is there and :obj:`num_graphs` does
            not ask for another size.
        target: What is counted: see :mod:`~graphgym_nc.datasets.subgraph_counts`.
        num_graphs: See :class:`TriangleCounting`.
        seed: See :class:`TriangleCounting`.
        first: See :class:`TriangleCounting`.

    Raises:
        FileNotFoundError: If a file is named and not there.
    """
    name = FILES[0] if source == 'auto' else source
    path = Path(root) / 'TriangleCounting' / 'raw' / f'{name}.npz'
    dataset: CountingFile | TriangleCounting
    if source in FILES and not path.is_file():
        raise FileNotFoundError(
            f"there is no '{path}'; put it there (graph6 strings in 'graphs', indices in 'train', "
            f"'val' and 'test'), or draw graphs with 'nc.counting_source: generated'"
        )
    if source in FILES or (source == 'auto' and path.is_file() and num_graphs == _PUBLISHED_SIZE):
        dataset = CountingFile(path, target)
    else:
        dataset = TriangleCounting(root, num_graphs, seed, target, first=first)
    logging.warning('*** TriangleCounting: %s; to count: %s', dataset.source, target)
    return dataset


def _read(graph6: bytes) -> Data:
    graph = nx.from_graph6_bytes(graph6)
    edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    edge_index = torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
    return Data(x=torch.ones(len(graph), 1), edge_index=edge_index, num_nodes=len(graph))
