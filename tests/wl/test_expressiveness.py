import pandas as pd
import pytest

from graphgym_nc.wl.brec import CATEGORIES, load_brec
from graphgym_nc.wl.brec_results import Score
from graphgym_nc.wl.expressiveness import (
    CLASSES,
    TOTAL,
    UNDISTINGUISHED,
    add_trained,
    atlas,
    expressiveness,
    methods,
    to_markdown,
)

BY_NAME = {method.name: method for method in methods()}


# What theorems of NC-GNN are about. The other systems are in tests/wl/peers.
OWN = (
    '1-WL', 'NC-1-WL', 'EB-1WL', '3-WL', 'random GIN', 'random NC-GNN', 'random lean NC-GNN',
    'random NC-GNN with the mean',
)  # fmt: skip

# On regular graphs, these see no more than the degree.
UP_TO_1_WL = (
    '1-WL', 'random GIN', 'random GraphSNN', 'random SAT', 'random K-subgraph SAT',
)  # fmt: skip


@pytest.fixture(scope='module')
def table():
    return expressiveness([BY_NAME[name] for name in OWN])


def test_atlas():
    # The numbers of graphs of 1 to 7 nodes are OEIS A000088.
    sizes = [len(graph) for graph in atlas()]
    assert [sizes.count(n) for n in range(8)] == [0, 1, 2, 4, 11, 34, 156, 1044]


def test_theorems_in_the_table(table):
    assert tuple(table.index) == OWN
    assert table.loc['3-WL', CLASSES] == 1252
    assert table.loc['1-WL'].tolist() == table.loc['random GIN'].tolist()
    assert table.loc['NC-1-WL'].tolist() == table.loc['random NC-GNN'].tolist()
    assert table.loc['NC-1-WL'].tolist() == table.loc['random lean NC-GNN'].tolist()
    assert table.loc['random NC-GNN with the mean', CLASSES] == 1251
    assert table.loc['1-WL', CLASSES] < table.loc['NC-1-WL', CLASSES] <= 1252
    for name, row in table.iterrows():
        assert (row[UNDISTINGUISHED] == 0) == (row[CLASSES] == 1252), name


@pytest.mark.parametrize('name', BY_NAME)
def test_methods_part_pairs_in_their_order(name):
    hexagon, two_triangles, path, star = 'EhEG', 'EwCW', 'Ch', 'Cs'
    pairs = [(hexagon, hexagon), (two_triangles, hexagon), (path, star), (star, star)]
    beyond_1_wl = name not in UP_TO_1_WL
    assert BY_NAME[name].parted(pairs) == [False, beyond_1_wl, True, False]


def test_brec(shared_data):
    seen = []

    def progress(pairs, what):
        seen.append(what)
        return pairs

    chosen = [BY_NAME[name] for name in ('NC-1-WL', 'random NC-GNN', 'random lean NC-GNN')]
    table = expressiveness(chosen, load_brec(shared_data / 'brec'), progress)
    row = table.loc['NC-1-WL']
    assert row.tolist() == table.loc['random NC-GNN'].tolist()
    assert row.tolist() == table.loc['random lean NC-GNN'].tolist()
    assert row[TOTAL] == sum(row[category.title] for category in CATEGORIES) > 0
    assert len(seen) == 21
    assert seen[4] == 'NC-1-WL, CFI'


def with_brec(table):
    out = table.copy()
    for category in CATEGORIES:
        out[category.title] = pd.array([1] * len(out), dtype='Int64')
    out[TOTAL] = pd.array([7] * len(out), dtype='Int64')
    return out


def test_add_trained_counts_complete_categories_only(table):
    scores = {'basic': Score(60, 52, 0), 'regular': Score(49, 48, 0)}
    row = add_trained(with_brec(table), 'nc', scores).loc['trained NC-GNN']
    assert row['basic'] == 52
    assert row.drop('basic').isna().all()


def test_add_trained_sums_up(table):
    scores = {category.file: Score(category.num_pairs, 3, 0) for category in CATEGORIES}
    out = add_trained(with_brec(table), 'gin', scores)
    assert out.loc['trained GIN', TOTAL] == 21
    assert out.drop('trained GIN').equals(with_brec(table))


def test_to_markdown(table):
    out = add_trained(with_brec(table), 'nc', {'basic': Score(60, 52, 0)})
    lines = to_markdown(out).splitlines()
    cells = [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]
    assert cells[0][:4] == ['method', CLASSES, UNDISTINGUISHED, 'basic (60)']
    assert cells[0][-1] == 'BREC total (400)'
    assert cells[5] == ['3-WL', '1252', '0', *'1111111', '7']
    assert cells[-1] == ['trained NC-GNN', '', '', '52', *[''] * 7]
    assert len({len(line) for line in lines}) == 1
