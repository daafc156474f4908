"""Writes the page and the picture of the house from the code: python docs/house.py."""

import inspect
import pkgutil
import re
import subprocess
import textwrap
from pathlib import Path

import grimp
import networkx as nx

PACKAGE = 'graphgym_nc'
DOCS = Path(__file__).parent
PICTURE = DOCS / 'images' / 'house.svg'
PAGE = DOCS / 'house.md'

#: The walk of a sample: a step, who does it, and what the next step gets.
WALK = (
    ('configuration', 'training.run.load_config', 'a checked `cfg`'),
    ('data set', 'graphgym.loader.load_dataset', '`Data(x, edge_index, y)`'),
    ('split', 'training.data.DataModule', 'graphs for train, val and test'),
    ('loader', 'training.loader.create_loader', 'batches of graphs'),
    ('layer in GraphGym', 'graphgym.layer.NCGNNConvLayer', '`batch.x`'),
    ('incidence', 'triangles.incidence.TriangleIncidence', 'an incidence that all layers share'),
    ('triangles', 'triangles.build.parts_by_kernels', 'the parts of the incidence'),
    ('triangles without kernels', 'triangles.build.parts_by_torch', 'the same'),
    ('layer', 'nn.nc_conv.NCGNNConv', 'node features'),
    ('messages', 'nn._communicate.communicate', 'a sum for every node'),
    ('network', 'training.train.create_model', 'scores and labels'),
    ('training', 'training.train.train', 'a trained model'),
    ('record', 'results.record.RunRecord', '`results/<config>/<seed>/run.json`'),
    ('average', 'results.aggregate.aggregate', '`results/<config>/agg`'),
    ('report', 'reports.runs.table', 'a table and learning curves'),
)

TEMPLATE = """\
# The house

The package is a house. Each subpackage is a room with one purpose. A room imports only rooms below
it. import-linter checks this in `run/test.sh`.

The command `python docs/house.py` writes this page and its picture from the code.

## The rooms

![The rooms, and which imports which](images/house.svg)

An arrow means "imports". An arrow is left out where a longer way along other arrows exists.

| room | what it is for | imports |
|---|---|---|
{rooms}

## The way of a sample

All names are in `graphgym_nc`.

{walk}

A sweep starts one such run for every configuration and seed (`graphgym_nc/sweeps`).
"""


def imports() -> nx.DiGraph:
    """Which room imports which."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    rooms = sorted(graph.find_children(PACKAGE))
    for room in rooms:
        graph.squash_module(room)
    house = nx.DiGraph()
    for room in rooms:
        house.add_node(room.rpartition('.')[2])
        for other in sorted(graph.find_modules_directly_imported_by(room) & set(rooms) - {room}):
            house.add_edge(room.rpartition('.')[2], other.rpartition('.')[2])
    return house


def purpose(name: str) -> str:
    """The first sentence of a docstring, as Markdown."""
    doc = inspect.getdoc(pkgutil.resolve_name(f'{PACKAGE}.{name}')) or ''
    if not doc:
        raise ValueError(f"'{PACKAGE}.{name}' has no docstring")
    first = ' '.join(doc.split('\n\n')[0].split()).rstrip('.,') + '.'
    first = re.sub(r':\w+:`~?([^`]*)`', r'`\1`', first)
    return re.sub(r'`([^`<]*?) *<([^>]*)>`_', r'[\1](\2)', first).replace('``', '`')


def picture(house: nx.DiGraph) -> str:
    """The rooms in the language of Graphviz."""
    lines = [
        'digraph house {',
        'node [shape=box style="rounded,filled" fillcolor="#eef3f8" color="#2a6f97" '
        'fontname="Helvetica" fontsize=11 margin="0.15,0.08"]',
        'edge [color="#7a8794" arrowsize=0.7]',
        'nodesep=0.25 ranksep=0.35',
    ]
    for room in sorted(house):
        text = purpose(room).split('. ')[0].rstrip('.').replace('`', '')
        label = '<br/>'.join(textwrap.wrap(text, 30))
        lines.append(f'{room} [label=<<b>{room}</b><br/>{label}>]')
    lines += [f'{a} -> {b}' for a, b in sorted(nx.transitive_reduction(house).edges)]
    return '\n'.join([*lines, '}'])


def page(house: nx.DiGraph) -> str:
    """The page in Markdown."""
    rooms = []
    for room in nx.lexicographical_topological_sort(house):
        below = ', '.join(f'`{other}`' for other in sorted(house[room]))
        rooms.append(f'| `{room}` | {purpose(room)} | {below or "-"} |')
    walk = ['| step | where | hands on | what it does |', '|---|---|---|---|']
    walk += [f'| {step} | `{name}` | {out} | {purpose(name)} |' for step, name, out in WALK]
    return TEMPLATE.format(rooms='\n'.join(rooms), walk='\n'.join(walk))


def main() -> None:
    house = imports()
    source = picture(house)
    svg = subprocess.run(
        ['dot', '-Tsvg'], input=source, capture_output=True, text=True, check=True
    ).stdout
    PICTURE.write_text(f'{svg}<!--\n{source}\n-->\n')  # a test compares the source
    PAGE.write_text(page(house))


if __name__ == '__main__':
    main()
