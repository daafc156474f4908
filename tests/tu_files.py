"""Raw files in the form of TUDatasets."""

from collections.abc import Sequence
from pathlib import Path

import networkx as nx


def write_tu(
    root: Path, name: str, graphs: Sequence[nx.Graph], labels: Sequence[int], node_labels: int = 0
) -> Path:
    """Writes graphs as the raw files of a TU data set.

    Args:
        root: The `dataset.dir`.
        name: The name of the data set.
        graphs: The graphs.
        labels: The class of each graph.
        node_labels: How many labels nodes have, given out in turn; 0 for no labels.
    """
    raw = root / name / 'raw'
    raw.mkdir(parents=True)
    graph = nx.disjoint_union_all(graphs)
    files: dict[str, list[object]] = {
        'A': [f'{u + 1}, {v + 1}' for u, v in sorted(graph.to_directed().edges)],
        'graph_indicator': [i + 1 for i, graph in enumerate(graphs) for _ in graph],
        'graph_labels': list(labels),
    }
    if node_labels:
        files['node_labels'] = [i % node_labels for i in range(len(graph))]
    for file, lines in files.items():
        (raw / f'{name}_{file}.txt').write_text(''.join(f'{line}\n' for line in lines))
    return raw
