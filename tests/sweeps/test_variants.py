import copy

import pytest

from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid
from graphgym_nc.sweeps.variants import set_key, variants_of

GRID = """
gnn.layers_mp l [2, 4]
gnn.act act ['relu', 'elu']

optim.base_lr lr [0.01]
gnn.dropout drop [0.0, 0.5, 0.9]
"""


@pytest.fixture
def grid(tmp_path):
    def grid(text=GRID):
        (tmp_path / 'grid.txt').write_text(text)
        return Grid.load(tmp_path / 'grid.txt')

    return grid


def test_products_and_names(grid):
    variants = variants_of(grid(), 'nc', {})
    assert [variant.name for variant in variants] == [
        'nc-l=2-act=relu',
        'nc-l=2-act=elu',
        'nc-l=4-act=relu',
        'nc-l=4-act=elu',
        'nc-lr=0.01-drop=0.0',
        'nc-lr=0.01-drop=0.5',
        'nc-lr=0.01-drop=0.9',
    ]
    assert variants[1].config == {'gnn': {'layers_mp': 2, 'act': 'elu'}}
    assert variants[1].values == {'l': 2, 'act': 'elu'}


def test_no_value_leaks_from_one_block_into_the_next(grid):
    base = {'gnn': {'act': 'prelu', 'layers_mp': 1}, 'optim': {'steps': [1]}}
    before = copy.deepcopy(base)
    variants = variants_of(grid(), 'nc', base)
    assert base == before
    assert [v.config['gnn']['act'] for v in variants[4:]] == ['prelu'] * 3
    assert [v.config['gnn']['layers_mp'] for v in variants[4:]] == [1] * 3
    variants[0].config['optim']['steps'].append(2)
    assert variants[1].config['optim']['steps'] == [1]


def test_lists_are_not_shared(grid):
    first, second = variants_of(grid('optim.steps s [[1]]\ngnn.act a ["relu", "elu"]'), 'nc', {})
    first.config['optim']['steps'].append(2)
    assert second.config['optim']['steps'] == [1]


def test_sample_is_fixed_without_repetition_and_from_all_blocks(grid):
    names = {variant.name for variant in variants_of(grid(), 'nc', {})}
    draws = [[v.name for v in variants_of(grid(), 'nc', {}, sample=5)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 5
    assert set(draws[0]) < names
    assert {v.name for v in variants_of(grid(), 'nc', {}, sample=100)} == names


def test_sample_to_compare(grid):
    text = 'gnn.layers_mp l [1,2,3,4,5]\ngnn.act act ["relu","elu","prelu"]\ngnn.dim_inner d [8,9]'
    variants = variants_of(grid(text), 'nc', {}, sample=4, compare=['act'])
    assert len(variants) == 12
    settings = {(v.values['l'], v.values['d']) for v in variants}
    assert len(settings) == 4
    for layers, dim in settings:
        chosen = {v.values['act'] for v in variants if v.values['l'] == layers
                  and v.values['d'] == dim}  # fmt: skip
        assert chosen == {'relu', 'elu', 'prelu'}
    with pytest.raises(GridError, match="no alias 'agg' to compare"):
        variants_of(grid(text), 'nc', {}, sample=4, compare=['agg'])


def test_a_huge_product_wants_a_sample(grid):
    rows = '\n'.join(f'gnn.a{i} a{i} {list(range(10))}' for i in range(12))
    with pytest.raises(GridError, match=r'1,000,000,000,000 .* --sample'):
        variants_of(grid(rows), 'nc', {})
    assert len(variants_of(grid(rows), 'nc', {}, sample=3)) == 3


def test_one_name_for_two_configurations(grid):
    with pytest.raises(GridError, match='two different configurations'):
        variants_of(grid('gnn.act x ["a"]\n\ngnn.head x ["a"]'), 'nc', {})


def test_blocks_that_overlap(grid):
    assert len(variants_of(grid('gnn.act x ["a"]\n\ngnn.act x ["a", "b"]'), 'nc', {})) == 2


def test_long_names_stay_different(grid):
    steps = [list(range(100)), list(range(101))]
    names = [v.name for v in variants_of(grid(f'optim.steps steps {steps}'), 'nc', {})]
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 200


def test_set_key():
    config = {'gnn': {'act': 'relu'}}
    set_key(config, 'gnn.dropout', 0.1)
    set_key(config, 'seed', 3)
    assert config == {'gnn': {'act': 'relu', 'dropout': 0.1}, 'seed': 3}
