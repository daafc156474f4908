"""Every configuration of the project, on tiny data of the right form."""

import json
import re
from pathlib import Path

import networkx as nx
import pytest
import yaml

from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like
from graphgym_nc.reports.paper.keep import changed_keys
from graphgym_nc.reports.paper.runs import MODELS, split_name
from graphgym_nc.results.aggregate import read_stats
from graphgym_nc.results.differences import flat
from graphgym_nc.sweeps.configs import generate, task_name
from graphgym_nc.sweeps.grid import Grid
from graphgym_nc.training.folders import chosen, resolved
from graphgym_nc.training.run import load_config, main, parse_args
from tests.counting_file import write_counting
from tests.tu_files import write_tu

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / 'configs').glob('*.yaml'))
PEERS = sorted((ROOT / 'configs' / 'peers').glob('*.yaml'))

TINY = [
    'nc.sbm_source', 'generated', 'nc.sbm_graphs', '[3,2,2]', 'nc.counting_graphs', '40',
    'num_threads', '1', 'accelerator', 'cpu',
]  # fmt: skip

# Number of classes, and of labels of nodes, as in the real data.
TU = {
    'COLLAB': (3, 0),
    'IMDB-BINARY': (2, 0),
    'IMDB-MULTI': (3, 0),
    'MUTAG': (2, 7),
    'NCI1': (2, 37),
    'PROTEINS': (2, 3),
    'PTC_MR': (2, 18),
}


@pytest.fixture(scope='module')
def data_dir(tmp_path_factory):
    root = tmp_path_factory.mktemp('datasets')
    for name, (classes, labels) in TU.items():
        number = 10 * classes
        graphs = [nx.gnp_random_graph(8, 0.6, seed=i) for i in range(number)]
        write_tu(root, name, graphs, [i % classes for i in range(number)], labels)
    write_counting(root, 'regular', [nx.gnp_random_graph(8, 0.6, seed=i) for i in range(40)])
    save_ppa_like(root / 'ogbg_ppa', draw_ppa_like(80, num_nodes=10, num_edges=25))
    return root


@pytest.mark.parametrize('path', [*CONFIGS, *PEERS], ids=lambda path: path.stem)
def test_check(cfg, data_dir, path, capsys, tmp_path, monkeypatch):
    names = MODELS.keys() - {'nc', 'gin'} if path in PEERS else {'nc', 'gin'}
    assert split_name(path.stem)[0] in names
    monkeypatch.chdir(tmp_path)
    main(['--cfg', str(path), '--check', 'dataset.dir', str(data_dir), *TINY])
    printed = capsys.readouterr().out
    for name in ('data source', 'parameters', 'triangles', 'memory', 'loss'):
        assert f'\n{name}' in f'\n{printed}'
    assert not list(tmp_path.iterdir())
    # The configuration says how many parameters there are, if the paper does.
    said = re.search(r'([0-9,]+)\sparameters', path.read_text().partition('metric_best')[0])
    if said:
        assert f'{said[1]}\n' in re.search(r'parameters +.*\n', printed)[0]


# Those of ogbg-ppa have one budget instead: see test_configs_ppa.py.
WITH_TWIN = [p for p in CONFIGS if p.stem.startswith('nc_') and p.stem != 'nc_ppa']

# What is not the paper's.
VARIANTS = {
    'scaled': {'nc.communicate_scale'},
    'mean': {'nc.communicate_aggr'},
    'lean': {'nc.mlp2_layers', 'nc.communicate_aggr'},
    'wide': {'gnn.dim_inner'},
    'outer': {'gnn.batchnorm', 'nc.mlp2_plain_last'},
}


@pytest.mark.parametrize('path', WITH_TWIN, ids=lambda path: path.stem)
def test_the_twin_differs_in_the_layer_alone(path):
    twin = path.with_name(f'gin_{path.stem.removeprefix("nc_")}.yaml')
    base, _, variant = path.stem.rpartition('_')
    keys = VARIANTS.get(variant, {'gnn.layer_type'})
    if variant in VARIANTS:
        assert not twin.exists()  # it has no MLP2
        twin = path.with_name(f'{base}.yaml')
    ours, other = (flat(yaml.safe_load(p.read_text())) for p in (path, twin))
    assert {k for k in ours.keys() | other.keys() if ours.get(k) != other.get(k)} == keys


@pytest.mark.parametrize('path', [*CONFIGS, *PEERS], ids=lambda path: path.stem)
def test_what_is_kept_of_a_run_names_the_keys_that_differ(cfg, path):
    for opts, changes in (
        ([], ''),
        (['optim.max_epoch', '3', 'nc.sbm_seed', '7'], 'nc.sbm_seed 7 optim.max_epoch 3'),
    ):
        load_config(parse_args(['--cfg', str(path), *opts]))
        config = resolved()
        full, record = flat(yaml.safe_load(config)), {'config': chosen(config)}
        assert changed_keys(path.stem, full, record) == changes


@pytest.mark.parametrize('path', CONFIGS, ids=lambda path: path.stem)
def test_the_learning_rate_falls_at_regular_steps(path):
    optim = yaml.safe_load(path.read_text())['optim']
    if optim['scheduler'] == 'step':
        step = optim['steps'][0]
        assert optim['steps'] == [*range(step, optim['max_epoch'], step)]


@pytest.mark.parametrize(
    ('name', 'number'),
    [
        ('counting', 2),
        ('counting_regular', 24),
        ('ppa', 3),
        ('sbm', 10),
        ('sparse', 6),
        ('time', 12),
        ('tu', 12),
        ('tu_jk', 12),
    ],
)
def test_grids_of_the_tables(name, number):
    grid = Grid.load(ROOT / 'grids' / f'{name}.txt')
    variants = generate(grid, grid.bases)
    assert len(variants) == number
    assert task_name(grid.bases, grid) == f'grid_{name}'
    assert {variant.values['config'] for variant in variants} == {p.stem for p in grid.bases}


def test_folds_are_reported_at_the_epoch_of_their_mean(cfg, data_dir, capsys, tmp_path):
    opts = ['--repeat', '3', 'dataset.dir', str(data_dir), 'out_dir', str(tmp_path)]
    path = ROOT / 'configs' / 'nc_imdb_m.yaml'
    main(['--cfg', str(path), *opts, *TINY, 'optim.max_epoch', '6', 'optim.base_lr', '0.05'])
    runs = [read_stats(tmp_path / 'nc_imdb_m' / fold / 'val' / 'stats.json') for fold in '012']
    curve = [sum(row['accuracy'] for row in rows) / 3 for rows in zip(*runs, strict=True)]
    assert f'val   accuracy {max(curve):.4f}' in capsys.readouterr().out
    written = json.loads((tmp_path / 'nc_imdb_m' / 'agg' / 'val' / 'bestepoch.json').read_text())
    assert written['accuracy'] == pytest.approx(max(curve))
    assert written['epoch'] == curve.index(max(curve))
