from pathlib import Path

import pytest
import yaml

from graphgym_nc.sweeps.configs import generate, task_name
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.grid import Grid

ROOT = Path(__file__).parents[2]
BASE = ROOT / 'configs' / 'nc_counting.yaml'


@pytest.fixture
def make(tmp_path):
    def make(text, *opts, **kwargs):
        (tmp_path / 'grid.txt').write_text(text)
        return generate(Grid.load(tmp_path / 'grid.txt'), [BASE], opts, **kwargs)

    return make


def test_configs_hold_base_options_and_choice(make):
    first, second = make('gnn.dropout drop [0, 0.5]', 'optim.max_epoch', '3')
    assert first.config['dataset'] == yaml.safe_load(BASE.read_text())['dataset']
    assert first.config['optim']['max_epoch'] == 3
    # An integer where a key wants a float: yacs would refuse it.
    assert repr(first.config['gnn']['dropout']) == '0.0'
    assert (first.name, second.name) == ('nc_counting-drop=0.0', 'nc_counting-drop=0.5')


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('gnn.layer_typ x ["ncgnnconv"]', "Did you mean 'gnn.layer_type'"),
        ('train.max_epoch x [1]', "Did you mean 'optim.max_epoch'"),
        ('gnn x [1]', 'group of keys'),
        ('seed x [0, 1]', 'every job has its own'),
        ('gnn.act.x x [1]', 'no configuration key'),
        ('gnn.dropout x ["much"]', 'must be of type float'),
        ('gnn.layers_mp x [1.5]', 'must be of type int'),
        ('gnn.batchnorm x [1]', 'must be of type bool'),
        ('gnn.layer_type x ["ncgnncon"]', "Did you mean 'ncgnnconv'"),
        ('nc.mlp_layers x [1, 0]', 'must be an integer from 1'),
        ('dataset.task x ["nodes"]', "'dataset.task' is 'nodes'.* Did you mean 'node'"),
    ],
)
def test_errors_name_file_and_line(make, text, message):
    with pytest.raises(GridError, match=f'grid.txt:2: .*{message}'):
        make(f'gnn.dim_inner d [8]\n{text}' if 'Task' not in message else f'\n{text}')


def test_all_bad_keys_at_once(make):
    with pytest.raises(GridError, match=r'grid.txt:1: (.|\n)*grid.txt:3: '):
        make('gnn.ac a ["relu"]\ngnn.dropout d [0.1]\ngnn.layers l [1]')


@pytest.mark.parametrize(
    ('opts', 'message'),
    [
        (['gnn.ac', 'relu'], "command line: .*Did you mean 'gnn.act'"),
        (['gnn.act'], "'gnn.act' has no value"),
        (['optim.max_epoch', 'many'], 'must be of type int'),
        (['gnn.act', 'rel'], "Did you mean 'relu'"),
        (['gnn.dropout', '0.5'], 'grid.txt:1: .*also on the command line'),
    ],
)
def test_bad_options(make, opts, message):
    with pytest.raises(GridError, match=message):
        make('gnn.dropout drop [0.0, 0.1]', *opts)


@pytest.mark.parametrize(
    ('text', 'message'), [('gnn: [', 'not valid YAML'), ('3', 'holds no keys')]
)
def test_bad_base(tmp_path, text, message):
    (tmp_path / 'grid.txt').write_text('gnn.dropout drop [0.0]')
    (tmp_path / 'base.yaml').write_text(text)
    grid = Grid.load(tmp_path / 'grid.txt')
    with pytest.raises(GridError, match=message):
        generate(grid, [tmp_path / 'base.yaml'])
    with pytest.raises(GridError, match='there is no configuration file'):
        generate(grid, [tmp_path / 'nowhere.yaml'])


def test_a_key_of_the_base_does_not_override_the_choice(tmp_path):
    (tmp_path / 'grid.txt').write_text('gnn.act act ["relu", "selu"]')
    (tmp_path / 'base.yaml').write_text('gnn.act: elu')
    with pytest.raises(GridError, match=r"base.yaml': 'gnn.act' has a dot"):
        generate(Grid.load(tmp_path / 'grid.txt'), [tmp_path / 'base.yaml'])


@pytest.mark.parametrize(('name', 'number'), [('smoke', 4), ('nc', 576), ('design_space', None)])
def test_grids_of_the_project(name, number):
    grid = Grid.load(ROOT / 'grids' / f'{name}.txt')
    variants = generate(grid, grid.bases, sample=None if number else 20)
    assert len(variants) == (number or 20)
    (base,) = grid.bases
    assert task_name(grid.bases, grid) == f'{base.stem}_grid_{name}'
    if name == 'design_space':
        layers = next(row for row in grid.blocks[0] if row.alias == 'layer')
        assert 'ncgnnconv' in layers.choices


@pytest.mark.parametrize('name', ['design_cluster', 'design_imdb_b', 'design_proteins'])
def test_grids_that_compare_layers(name):
    grid, space = (Grid.load(ROOT / 'grids' / f'{n}.txt') for n in (name, 'design_space'))
    assert len(generate(grid, grid.bases, sample=32, compare=['layer'])) == 32 * 6
    fixed = [row for row in grid.blocks[0] if len(row.choices) == 1]
    varying = [(row.key, row.alias, row.choices) for row in grid.blocks[0] if row not in fixed]
    assert {'optim.max_epoch', 'optim.scheduler'} <= {row.key for row in fixed}
    assert varying == [(row.key, row.alias, row.choices) for row in space.blocks[0]]


def test_several_base_configurations(tmp_path):
    (tmp_path / 'grid.txt').write_text('gnn.layers_mp mp [1, 2]')
    grid, bases = Grid.load(tmp_path / 'grid.txt'), [BASE, BASE.with_name('gin_counting.yaml')]
    variants = generate(grid, bases, ['optim.max_epoch', '3'])
    assert [variant.name for variant in variants] == [
        'nc_counting-mp=1', 'nc_counting-mp=2', 'gin_counting-mp=1', 'gin_counting-mp=2'
    ]  # fmt: skip
    assert variants[2].values == {'config': 'gin_counting', 'mp': 1}
    assert variants[2].config['gnn']['layer_type'] == 'nc_ginconv'
    assert all(variant.config['optim']['max_epoch'] == 3 for variant in variants)
    assert task_name(bases, grid) == 'grid_grid'


def test_base_configurations_of_one_name(tmp_path):
    (tmp_path / 'grid.txt').write_text('gnn.layers_mp mp [1, 2]')
    (tmp_path / BASE.name).write_text(BASE.read_text())
    with pytest.raises(GridError, match="'nc_counting' is the name of two"):
        generate(Grid.load(tmp_path / 'grid.txt'), [BASE, tmp_path / BASE.name])
