"""Draws graphs by their colours, and tables of expressiveness."""

import math
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from graphgym_nc.wl.brec import CATEGORIES
from graphgym_nc.wl.expressiveness import TOTAL, UNDISTINGUISHED
from graphgym_nc.wl.graphs import GraphLike, to_graph

_MAX_LEGEND = 12
_MAX_KAMADA_KAWAI = 200  # its time grows with the cube of the nodes


def plot_pair(
    graphs: Sequence[GraphLike], colors: Sequence[Tensor], titles: Sequence[str], title: str
) -> Figure:
    """Draws graphs side by side, every node in its colour.

    Args:
        graphs: The graphs.
        colors: The colours of their nodes, or of their triples (3-WL): then a
            node has the colour of :obj:`(v, v, v)`.
        titles: One title per graph.
        title: The title of the whole.
    """
    nodes = [node_colors(color).numpy() for color in colors]
    present = np.unique(np.concatenate(nodes))
    palette = colormaps['tab10' if present.size <= 10 else 'turbo']
    step = 1 if present.size <= 10 else 255 / (present.size - 1)
    paint = {int(color): palette(int(i * step)) for i, color in enumerate(present)}

    figure = Figure(figsize=(5 * len(graphs), 5.2), layout='constrained')
    figure.suptitle(title)
    axes = np.atleast_1d(figure.subplots(1, len(graphs)))
    for ax, graph, color, name in zip(axes, graphs, nodes, titles, strict=True):
        _draw(ax, _to_networkx(graph), [paint[int(c)] for c in color])
        ax.set_title(name, fontsize=10)
    _legend(figure, nodes, paint)
    return figure


def node_colors(color: Tensor) -> Tensor:
    """The colours of nodes, given theirs or those of triples."""
    return color if color.dim() == 1 else color.diagonal(0, 0, 1).diagonal(0, 0, 1)


def plot_expressiveness(table: pd.DataFrame) -> Figure:
    """Draws the table of :meth:`~graphgym_nc.wl.expressiveness.expressiveness`."""
    has_brec = TOTAL in table
    names = list(table.index)
    figure = Figure(figsize=(13 if has_brec else 5, 1.8 + 0.45 * len(names)), layout='constrained')
    if not has_brec:
        _plot_atlas(figure.subplots(), table, names)
        return figure
    left, right = figure.subplots(1, 2, width_ratios=[1, 2.6])
    _plot_atlas(left, table, names)
    _plot_brec(right, table)
    return figure


def _plot_atlas(ax: Axes, table: pd.DataFrame, names: list[str]) -> None:
    values = table[UNDISTINGUISHED]
    bars = ax.barh(range(len(names)), values.fillna(0).astype(int), color='tab:blue')
    ax.bar_label(bars, ['-' if pd.isna(value) else str(value) for value in values], padding=3)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)  # rows level with those of BREC
    ax.set_xlim(0, max(1, int(values.max())) * 1.15)
    ax.set_xlabel('pairs')
    ax.set_title('Graphs of up to 7 nodes:\npairs not told apart')
    ax.spines[['top', 'right']].set_visible(False)


def _plot_brec(ax: Axes, table: pd.DataFrame) -> None:
    of = {category.title: category.num_pairs for category in CATEGORIES}
    of[TOTAL] = sum(of.values())
    counts = table[list(of)]
    share = (counts / pd.Series(of)).astype('float64').to_numpy()
    ax.imshow(np.ma.masked_invalid(share), cmap='Blues', vmin=0, vmax=1, aspect='auto')
    for (i, j), value in np.ndenumerate(share):
        text = '-' if np.isnan(value) else str(counts.iat[i, j])
        ax.text(j, i, text, ha='center', va='center', color='white' if value > 0.5 else 'black')
    labels = [f'{name.replace(" ", chr(10), 1)}\n({number})' for name, number in of.items()]
    ax.set_xticks(range(len(of)), labels, fontsize=8)
    ax.set_yticks(range(len(table)), [''] * len(table))
    ax.tick_params(length=0)
    ax.axvline(len(of) - 1.5, color='black', linewidth=1)
    ax.set_title('BREC: pairs told apart\n(of how many, in brackets)')


def _draw(ax: Axes, graph: Any, paint: list[Any]) -> None:
    large = len(graph) > 40
    nx.draw_networkx(
        graph,
        pos=_layout(graph),
        ax=ax,
        node_color=paint,
        node_size=60 if large else 300,
        with_labels=not large,
        font_size=8,
        edge_color='gray',
        edgecolors='black',
        linewidths=0.5,
    )
    ax.set_axis_off()
    ax.set_aspect('equal')
    ax.margins(0.1)


def _layout(graph: Any) -> dict[int, Any]:
    """Places each connected part on its own, the parts side by side."""
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    radius = [max(1.0, len(part) ** 0.5) for part in parts]
    columns = math.ceil(len(parts) ** 0.5)
    cell = 2.4 * max(radius, default=1.0)
    position: dict[int, Any] = {}
    for i, (part, size) in enumerate(zip(parts, radius, strict=True)):
        center = np.array([i % columns, -(i // columns)]) * cell
        subgraph = graph.subgraph(sorted(part))
        if len(part) <= _MAX_KAMADA_KAWAI:
            place = nx.kamada_kawai_layout(subgraph, scale=size)
        else:
            place = nx.spring_layout(subgraph, scale=size, seed=0)
        position.update({node: center + xy for node, xy in place.items()})
    return position


def _to_networkx(graph: GraphLike) -> Any:
    edge_index, num_nodes = to_graph(graph)[:2]
    out: Any = nx.Graph()
    out.add_nodes_from(range(num_nodes))
    out.add_edges_from((u, v) for u, v in edge_index.T.tolist() if u != v)
    return out


def _legend(figure: Figure, nodes: list[Any], paint: dict[int, Any]) -> None:
    if len(paint) > _MAX_LEGEND:
        return
    handles = []
    for color, shade in paint.items():
        counts = ' : '.join(str(int((part == color).sum())) for part in nodes)
        marker = Line2D([], [], marker='o', linestyle='', color=shade, markeredgecolor='black')
        marker.set_label(f'colour {color} ({counts})')
        handles.append(marker)
    figure.legend(handles=handles, loc='outside lower center', ncols=min(4, len(handles)))
