"""Files of graphs whose subgraphs are to be counted."""

from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np


def write_counting(root: Path, name: str, graphs: Sequence[nx.Graph]) -> None:
    """Writes graphs with a split of 40, 20 and 40 %, last graphs first.

    Args:
        root: The `dataset.dir`.
        name: The name of the file.
        graphs: The graphs.
    """
    raw = root / 'TriangleCounting' / 'raw'
    raw.mkdir(parents=True, exist_ok=True)
    order = np.arange(len(graphs))[::-1]
    cuts = [len(graphs) * 2 // 5, len(graphs) * 3 // 5 + 1]
    train, val, test = np.split(order, cuts)
    text = [nx.to_graph6_bytes(graph, header=False).strip() for graph in graphs]
    np.savez(raw / f'{name}.npz', graphs=text, train=train, val=val, test=test)
