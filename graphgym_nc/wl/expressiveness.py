"""What WL algorithms and networks tell apart, side by side."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import pandas as pd
from networkx.generators.atlas import graph_atlas_g

from graphgym_nc.wl.brec import CATEGORIES, Pair
from graphgym_nc.wl.brec_results import Score
from graphgym_nc.wl.encoder import embedding_classes
from graphgym_nc.wl.graphs import GraphLike
from graphgym_nc.wl.isomorphism import (
    ALGORITHMS,
    Algorithm,
    distinguishes,
    undistinguished_pairs,
    wl_classes,
)
from graphgym_nc.wl.networks import NETWORKS, random_embeddings

Progress: TypeAlias = Callable[[list[Pair], str], Iterable[Pair]]

CLASSES, UNDISTINGUISHED, TOTAL = 'atlas classes', 'atlas undistinguished pairs', 'BREC total'

_TITLES = {'1-wl': '1-WL', 'nc-1-wl': 'NC-1-WL', 'eb-1-wl': 'EB-1WL', '3-wl': '3-WL'}


class Method(NamedTuple):
    """Something that tells graphs apart.

    Attributes:
        name: Its name.
        classes: Sorts graphs into classes.
        parted: Which pairs of graphs it tells apart.
    """

    name: str
    classes: Callable[[list[GraphLike]], list[int]]
    parted: Callable[[Iterable[Pair]], list[bool]]


def methods(seed: int = 0) -> list[Method]:
    """The algorithms, and all networks with random weights."""
    return [
        *(
            Method(
                _TITLES[algorithm],
                partial(wl_classes, algorithm=algorithm),
                partial(_parted_by_algorithm, algorithm=algorithm),
            )
            for algorithm in ALGORITHMS
        ),
        *(random_network(name, seed) for name in NETWORKS),
    ]


def random_network(name: str, seed: int = 0) -> Method:
    """A network with random weights."""
    return Method(
        f'random {NETWORKS[name].title}',
        partial(network_classes, name=name, seed=seed),
        partial(_parted_by_network, name=name, seed=seed),
    )


def atlas() -> list[GraphLike]:
    """All 1,252 graphs of one to seven nodes, up to isomorphism."""
    return [graph for graph in graph_atlas_g() if len(graph) > 0]


def expressiveness(
    methods: Iterable[Method],
    brec: dict[str, list[Pair]] | None = None,
    progress: Progress = lambda pairs, _: pairs,
) -> pd.DataFrame:
    """Counts what every method tells apart.

    Args:
        methods: The methods.
        brec: BREC's pairs, if they are to be compared.
        progress: Wraps a list of pairs, given what is done with it.

    Returns:
        One row per method: the number of classes of the atlas, and of pairs of
        it in the same class; and the number of pairs told apart of every
        category of BREC, and of all.
    """
    graphs, rows = atlas(), {}
    for method in methods:
        classes = method.classes(graphs)
        row = {CLASSES: len(set(classes)), UNDISTINGUISHED: undistinguished_pairs(classes)}
        if brec is not None:
            for category in CATEGORIES:
                pairs = progress(brec[category.file], f'{method.name}, {category.title}')
                row[category.title] = sum(method.parted(pairs))
            row[TOTAL] = sum(row[category.title] for category in CATEGORIES)
        rows[method.name] = row
    table = pd.DataFrame.from_dict(rows, orient='index').astype('Int64')
    return table.rename_axis(index='method')


def add_trained(table: pd.DataFrame, name: str, scores: dict[str, Score]) -> pd.DataFrame:
    """Adds a trained network's scores, as far as categories are complete."""
    row: dict[str, int] = {}
    for category in CATEGORIES:
        score = scores.get(category.file)
        if score is not None and score.tested == category.num_pairs:
            row[category.title] = score.parted
    if len(row) == len(CATEGORIES):
        row[TOTAL] = sum(row.values())
    new = pd.DataFrame([row], index=[f'trained {NETWORKS[name].title}'], columns=table.columns)
    new = new.astype('Int64')
    return pd.concat([table, new]).rename_axis(index='method')


def to_markdown(table: pd.DataFrame) -> str:
    """Writes the table in Markdown, with the number of pairs in the header."""
    of = {category.title: category.num_pairs for category in CATEGORIES}
    of[TOTAL] = sum(of.values())
    titles = {name: f'{name} ({number})' for name, number in of.items()}
    cells = table.rename(columns=titles).astype(object).fillna('')
    return str(cells.to_markdown(disable_numparse=True))


def _parted_by_algorithm(pairs: Iterable[Pair], algorithm: Algorithm) -> list[bool]:
    return [distinguishes(g, h, algorithm) for g, h in pairs]


def network_classes(graphs: list[GraphLike], name: str, seed: int = 0) -> list[int]:
    """Sorts graphs into classes that a network with random weights does not part."""
    return embedding_classes(random_embeddings(graphs, name, seed))


def _parted_by_network(pairs: Iterable[Pair], name: str, seed: int) -> list[bool]:
    classes = network_classes([graph for pair in pairs for graph in pair], name, seed)
    return [g != h for g, h in pairwise(classes)][::2]
