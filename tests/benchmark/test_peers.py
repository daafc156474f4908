import pytest
import torch
import torch_geometric.nn
from torch_geometric.graphgym.config import cfg as global_cfg

from graphgym_nc.benchmark import peers
from graphgym_nc.benchmark.plot import plot_peers, plot_power
from graphgym_nc.graphgym.validation import ConfigError


def test_every_case_has_its_systems():
    for case in peers.CASES.values():
        found = peers.systems(case.config)
        assert [*found][:3] == ['gin', 'nc', 'nc_lean']
        assert len(found) > 8
    found = peers.systems('pattern')
    assert found['nc'] == 'nc_pattern_4l_100k'
    assert found['ppgn'] == 'ppgn_pattern_100k'


@pytest.fixture
def rows(cfg, tmp_path, monkeypatch):
    """GIN and NC-GNN, of about 3,000 parameters, on a few graphs."""
    monkeypatch.setattr(peers, 'BUDGET', 3000)
    both = {'gin': 'gin_counting_regular', 'nc': 'nc_counting_regular'}
    monkeypatch.setattr(peers, 'systems', lambda config: both)
    monkeypatch.setitem(peers.CASES, 'counting', peers.Case('counting_regular', 1, 1, graphs=6))
    return peers.measure_peers('counting', tmp_path, 1)


def test_rows(rows):
    gin, nc = rows
    assert (gin['system'], nc['system']) == ('gin', 'nc')
    for row in rows:
        assert abs(row['parameters'] - 3000) < 1500
        assert row['width'] % 8 == 0
        assert row['ms per step'] > 0
        assert row['MB'] > 0
    assert gin['time over GIN'] == gin['memory over GIN'] == gin['MACs over GIN'] == 1
    assert nc['MACs over GIN'] == nc['MMACs per graph'] / gin['MMACs per graph']


def test_operations_of_gin(cfg, tmp_path):
    case = peers.Case('counting_regular', 1, 1, graphs=2)
    graphs = peers._graphs('counting', case, tmp_path)
    gin = peers._contestant('gin', 'gin_counting_regular', case, graphs)
    counts = []
    for module in gin.model.modules():
        if isinstance(module, torch.nn.Linear | torch_geometric.nn.Linear):
            module.register_forward_hook(
                lambda linear, args, out: counts.append(out.numel() * linear.weight.size(1))
            )
    assert peers._macs(gin) == sum(counts) > 0


def test_a_model_runs_with_its_own_configuration(cfg, tmp_path):
    case = peers.Case('counting_regular', 1, 1, graphs=2)
    graphs = peers._graphs('counting', case, tmp_path)
    gin = peers._contestant('gin', 'gin_counting_regular', case, graphs)
    nc = peers._contestant('nc', 'nc_counting_regular', case, graphs)
    assert global_cfg.gnn.layer_type == 'ncgnnconv'
    gin.forward()
    assert global_cfg.gnn.layer_type == 'nc_ginconv'
    nc.forward()
    assert global_cfg.gnn.layer_type == 'ncgnnconv'


class Square(torch.nn.Module):
    """A model with the square of its width for parameters."""

    def __init__(self, width, multiple=8):
        super().__init__()
        if width % multiple:
            raise ConfigError(f"'gnn.dim_inner' must be a multiple of {multiple}")
        self.weight = torch.nn.Parameter(torch.zeros(width, width))


def test_the_nearest_width():
    assert peers.nearest_width(Square, 100)[0] == 8  # 64, not 256
    assert peers.nearest_width(Square, 10_200)[0] == 104  # 10,816, not 9,216
    assert peers.nearest_width(lambda width: Square(width, 12), 10_000)[0] == 96
    with pytest.raises(ConfigError, match='multiple of 7'):
        peers.nearest_width(lambda width: Square(width, 7), 100)


def test_a_system_that_cannot_be_had_is_left_out(cfg, monkeypatch, caplog):
    def refused(config, case, options, width):
        raise ConfigError('no')

    monkeypatch.setattr(peers, '_built', refused)
    assert peers._contestant('gin', 'gin_x', peers.CASES['counting'], []) is None
    assert 'gin_x is left out: no' in caplog.text


def test_pairs_that_would_not_fit(cfg, tmp_path, monkeypatch, caplog):
    case = peers.Case('counting_regular', 1, 1, graphs=2)
    graphs = peers._graphs('counting', case, tmp_path)
    monkeypatch.setattr('os.sysconf', lambda name: 300)  # 90 kB of memory
    assert peers._contestant('ppgn', 'ppgn_counting_regular', case, graphs) is None
    assert 'the pairs of nodes of a batch would take' in caplog.text


def test_plots(tmp_path):
    group = [
        {'workload': 'a', 'system': name, 'time over GIN': i + 1.0, 'memory over GIN': 2.0}
        for i, name in enumerate(['gin', 'nc'])
    ]
    table = tmp_path / 'expressiveness.csv'
    table.write_text('method,BREC total\n1-WL,0\nrandom GIN,0\nrandom NC-GNN,106\n')
    pairs = peers.pairs_told_apart(table)
    assert pairs == {'gin': 0, 'nc': 106}
    plot_peers([group, group], tmp_path / 'peers.png')
    plot_power([group, group], pairs, tmp_path / 'power.png')
    assert all((tmp_path / f'{name}.png').stat().st_size > 10_000 for name in ('peers', 'power'))


def test_a_table_without_brec(tmp_path):
    table = tmp_path / 'expressiveness.csv'
    table.write_text('method,atlas classes\n1-WL,3\n')
    with pytest.raises(
        SystemExit, match=r"'--pairs .*' is no table of graphgym-nc expressiveness"
    ):
        peers.pairs_told_apart(table)
