import json

import pytest
import yaml
from torch_geometric.graphgym.config import assert_cfg

from graphgym_nc import TriangleIncidence
from graphgym_nc.benchmark.cost import cost
from graphgym_nc.cli.cost import main
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.train import create_model
from graphgym_nc.utils.packaged import packaged


@pytest.fixture
def configured(cfg):
    cfg.dataset.format, cfg.dataset.name = 'NC', 'TriangleCounting'
    cfg.dataset.task, cfg.dataset.task_type = 'graph', 'regression'
    cfg.nc.counting_graphs, cfg.train.batch_size, cfg.model.loss_fun = 40, 12, 'l1'
    cfg.gnn.update(head='graph', layers_mp=2, layers_post_mp=1, dim_inner=8, batchnorm=False)
    return cfg


def test_products_of_gin_by_hand(configured):
    configured.gnn.layer_type = 'nc_ginconv'
    assert_cfg(configured)
    datamodule = DataModule()
    result = cost(create_model(), datamodule)
    test = datamodule.dataset[datamodule.dataset.split_idxs[2]]
    nodes = sum(data.num_nodes for data in test)
    # Two layers of 1-8-8 and 8-8-8, on nodes, and 8-1 on graphs.
    assert result['macs_per_graph'] == (nodes * (8 + 64 + 64 + 64) + len(test) * 8) / len(test)
    assert (result['split'], result['graphs']) == ('test', 20)
    assert result['seconds'] > 0


def test_products_of_nc_gnn_run_once_per_edge(configured):
    configured.gnn.layer_type = 'ncgnnconv'
    assert_cfg(configured)
    datamodule = DataModule()
    result = cost(create_model(), datamodule)
    nodes = edges = 0
    for data in datamodule.dataset[datamodule.dataset.split_idxs[2]]:
        nodes += data.num_nodes
        edges += TriangleIncidence.from_data(data).num_edges
    gin = nodes * (8 + 64 + 64 + 64) + 20 * 8
    on_messages = gin + edges * (8 + 8 + 64 + 64)  # MLP2: 1-8-1 and 8-8-8, all of it on edges
    assert gin < 20 * result['macs_per_graph'] <= on_messages


@pytest.mark.parametrize('by_name', [True, False])
def test_a_sweep_is_measured(cfg, tmp_path, monkeypatch, by_name):
    """By its name, or by all that is in it: tables and the manifest are there, too."""
    monkeypatch.chdir(tmp_path)
    sweep = tmp_path / 'grid'
    names = ['gin_counting', 'nc_counting']
    for name in names:
        config = yaml.safe_load(packaged('configs', name).read_text())
        config['nc'] = {**config.get('nc', {}), 'counting_graphs': 40}
        (sweep / name).mkdir(parents=True)
        (sweep / name / 'config.yaml').write_text(yaml.safe_dump({**config, 'num_threads': 1}))
    (sweep / 'agg').mkdir()
    (sweep / 'grid.json').write_text('{}')
    main([str(sweep)] if by_name else [str(path) for path in sorted(sweep.iterdir())])
    costs = [json.loads((sweep / name / 'cost.json').read_text()) for name in names]
    assert 0 < costs[0]['macs_per_graph'] < costs[1]['macs_per_graph']
    assert not (sweep / 'agg' / 'cost.json').exists()


def test_nothing_to_measure(tmp_path):
    with pytest.raises(SystemExit, match=f"no config.yaml in '{tmp_path}', 'nowhere'"):
        main([str(tmp_path), 'nowhere'])
