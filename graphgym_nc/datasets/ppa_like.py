"""Random graphs in the form of ogbg-ppa, to try what is meant for it without it."""

import contextlib
import io
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

_NUM_CLASSES = 37

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PPALike:
    """Graphs without node features, and with seven edge features.

    Attributes:
        num_nodes: The number of nodes of each graph.
        edges: The undirected edges of each graph, each once, of shape
            :obj:`[2, m]`.
        features: Their features, of shape :obj:`[m, 7]`.
        labels: The class of each graph, of shape :obj:`[num_graphs, 1]`.
    """

    num_nodes: list[int]
    edges: list[Array]
    features: list[Array]
    labels: Array

    @property
    def split(self) -> dict[str, Array]:
        """The indices of the graphs of each split, by OGB's names."""
        cuts = [len(self.edges) // 2, len(self.edges) * 3 // 4]
        parts = np.split(np.arange(len(self.edges)), cuts)
        return dict(zip(('train', 'valid', 'test'), parts, strict=True))


def draw_ppa_like(num_graphs: int, num_nodes: float = 243.4, num_edges: float = 2266.1) -> PPALike:
    """Draws graphs whose nodes are points in the plane, and whose edges are the
    closest pairs; with the default sizes, those of ogbg-ppa, about as many
    edges lie among the neighbours of a node.

    Args:
        num_graphs: The number of graphs.
        num_nodes: The number of nodes, on average.
        num_edges: The number of undirected edges, on average.
    """
    rng = np.random.default_rng(0)
    sizes = rng.uniform(0.5, 1.5, num_graphs)
    graphs = [
        _closest_pairs(rng, max(3, round(size * num_nodes)), round(size * num_edges))
        for size in tqdm(sizes, 'Drawing graphs', disable=None)
    ]
    return PPALike(
        [max(3, round(size * num_nodes)) for size in sizes],
        graphs,
        [rng.integers(1, 1000, (edges.shape[1], 7)).astype(np.float32) / 1000 for edges in graphs],
        rng.permutation(np.arange(num_graphs) % _NUM_CLASSES).reshape(-1, 1),
    )


def save_ppa_like(folder: Path, graphs: PPALike) -> None:
    """Writes a data set with :class:`ogb.io.DatasetSaver`, for
    :class:`~graphgym_nc.datasets.ogb_graphs.OGBGraphs`.

    Args:
        folder: Where to, such as :obj:`datasets/ogbg_ppa`.
        graphs: The graphs.

    Raises:
        FileExistsError: If there is something already.
    """
    from ogb.io import DatasetSaver

    if folder.exists():
        raise FileExistsError(f"there is something in '{folder}' already")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder.parent) as scratch,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        saver = DatasetSaver('ogbg-ppa', is_hetero=False, version=1, root=f'{scratch}/new')
        saver.save_graph_list(
            [
                {
                    'edge_index': np.concatenate([edges, edges[::-1]], axis=1),
                    'edge_feat': np.concatenate([features, features]),
                    'num_nodes': size,
                }
                for size, edges, features in zip(
                    graphs.num_nodes, graphs.edges, graphs.features, strict=True
                )
            ]
        )
        saver.save_target_labels(graphs.labels)
        saver.save_task_info('multiclass classification', 'acc', num_classes=_NUM_CLASSES)
        saver.save_split(graphs.split, split_name='species')
        mapping = Path(scratch) / 'mapping'
        mapping.mkdir()
        (mapping / 'README.md').touch()
        saver.copy_mapping_dir(str(mapping))
        torch.save(saver.get_meta_dict(), Path(saver.dataset_dir) / 'meta_dict.pt')
        shutil.move(saver.dataset_dir, folder)


def _closest_pairs(rng: np.random.Generator, num_nodes: int, num_edges: int) -> Array:
    points = rng.standard_normal((num_nodes, 2))
    points = np.sign(points) * np.abs(points) ** 1.4  # denser in the middle
    pairs = np.stack(np.triu_indices(num_nodes, k=1))
    distance = np.square(points[pairs[0]] - points[pairs[1]]).sum(axis=1)
    number = min(num_edges, distance.size)
    return pairs[:, np.sort(np.argpartition(distance, number - 1)[:number])]
