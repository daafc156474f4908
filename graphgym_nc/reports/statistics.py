"""Statistics of data sets, beside those of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import TUDataset
from tqdm import tqdm

from graphgym_nc.datasets import load_sbm
from graphgym_nc.reports.paper.published import STATISTICS, Statistics
from graphgym_nc.triangles.listing import find_triangles
from graphgym_nc.utils.render import markdown

_SBM = ('PATTERN', 'CLUSTER')

# By how much a figure may be off that is computed from the same graphs (whether COLLAB's loops
# count as edges is not told), or from others drawn alike.
_TOLERANCE = 1e-3
_TOLERANCE_GENERATED = 5e-2


@dataclass(frozen=True)
class Measured:
    """What is found in a data set: see
    :class:`graphgym_nc.reports.paper.published.Statistics`; both directions of an edge count.
    """

    graphs: int
    nodes: float
    edges: float
    messages: float
    source: str


def report_statistics(
    names: Sequence[str], root: Path, sbm_graphs: Sequence[int], out: Path
) -> None:
    """Prints the statistics of data sets, and writes them to a CSV file.

    Args:
        names: The data sets; all of the paper that are on disk, if there is no name.
        root: Where data sets are kept.
        sbm_graphs: As for :meth:`load`.
        out: The file.

    Raises:
        FileNotFoundError: If there is none of them.
    """
    wanted = names or [
        name for name in STATISTICS if is_on_disk(root, name) or (sbm_graphs and name in _SBM)
    ]
    measured = {name: measure(load(root, name, sbm_graphs), name) for name in wanted}
    if not measured:
        raise FileNotFoundError(f"there is no data set of the paper in '{root}'")
    print(markdown(table(measured)))
    absent = [name for name in STATISTICS if name not in measured]
    if absent and not names:
        print(f"\nNot in '{root}': {', '.join(absent)}")
    out.parent.mkdir(parents=True, exist_ok=True)
    frame(measured).to_csv(out, index=False)
    print(f"\nUnrounded: '{out}'")


def load(root: Path, name: str, sbm_graphs: Sequence[int] = ()) -> InMemoryDataset:
    """Loads a data set of the paper that is on disk.

    Args:
        root: Where data sets are kept.
        name: The name.
        sbm_graphs: For PATTERN and CLUSTER, the number of training, validation
            and test graphs to draw, in place of the official ones.

    Raises:
        FileNotFoundError: If it is not there.
    """
    if name in _SBM:
        source = 'generated' if sbm_graphs else 'official'
        return load_sbm(root, name, source, list(sbm_graphs))
    if name == 'ogbg-ppa':
        from graphgym_nc.datasets.ogb_graphs import OGBGraphs

        return OGBGraphs(root, name)
    if name not in STATISTICS:
        raise ValueError(f"'{name}' is none of {', '.join(STATISTICS)}")
    raw = root / name / 'raw' / f'{name}_A.txt'
    if not raw.exists():
        raise FileNotFoundError(f"there is no '{raw}'")
    return TUDataset(str(root), name)


def is_on_disk(root: Path, name: str) -> bool:
    """Whether a data set can be loaded without the network."""
    folder = root / name.replace('ogbg-', 'ogbg_')
    return any((folder / 'raw').glob('*')) or any((folder / 'processed').glob('*.pt'))


def measure(dataset: InMemoryDataset, name: str) -> Measured:
    """Goes through all graphs of a data set."""
    nodes = edges = messages = 0
    for data in tqdm(dataset, name, disable=None, leave=False):
        nodes += data.num_nodes
        edges += data.num_edges
        messages += num_messages(data)
    number = len(dataset)
    source = getattr(dataset, 'source', 'as loaded by PyG')
    return Measured(number, nodes / number, edges / number, messages / max(nodes, 1), source)


def num_messages(data: Data) -> int:
    """The number of undirected edges among the neighbours of a node, summed over
    all nodes of a graph; every triangle counts at each of its corners.
    """
    assert data.edge_index is not None
    return 3 * find_triangles(data.edge_index, data.num_nodes).size(1)


def disagreements(ours: Measured, published: Statistics) -> list[str]:
    """The figures that are not the published ones, rounded or cut off."""
    generated = ours.source.startswith('generated')
    tolerance = _TOLERANCE_GENERATED if generated else _TOLERANCE
    result = []
    for field in ('graphs', 'nodes', 'edges', 'messages'):
        theirs = getattr(published, field)
        if theirs is None:
            continue
        _, _, decimals = f'{theirs}'.partition('.')
        digit = 10.0 ** -len(decimals) if decimals and theirs else 0
        allowed = 0 if field == 'graphs' else max(digit, tolerance * theirs)
        if abs(_comparable(ours, published, field) - theirs) > allowed:
            result.append(field)
    return result


def table(measured: dict[str, Measured]) -> pd.DataFrame:
    """One row for each data set: every figure, and the published one."""
    rows = []
    for name, ours in measured.items():
        published = STATISTICS[name]
        row: dict[str, str] = {'data set': name}
        for field in ('graphs', 'nodes', 'edges', 'messages'):
            value, theirs = _comparable(ours, published, field), getattr(published, field)
            row[field] = str(value) if field == 'graphs' else f'{value:.4g}'
            if field != 'graphs' and value >= 1000:
                row[field] = f'{value:.1f}'
            row[f'{field} (paper)'] = '-' if theirs is None else str(theirs)
        differing = disagreements(ours, published)
        row['agrees'] = f'not {", ".join(differing)}' if differing else 'yes'
        if published.note and 'messages' in differing:
            row['agrees'] += f': {published.note}'
        row['source'] = ours.source
        rows.append(row)
    return pd.DataFrame(rows)


def frame(measured: dict[str, Measured]) -> pd.DataFrame:
    """The figures alone, unrounded."""
    return pd.DataFrame([{'dataset': name, **vars(m)} for name, m in measured.items()])


def _comparable(ours: Measured, published: Statistics, field: str) -> float:
    """A figure, counted as the paper does."""
    value = getattr(ours, field)
    return value / 2 if field == 'edges' and published.undirected else value
