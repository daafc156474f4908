import matplotlib.image
import pytest

from graphgym_nc.reports.paper.kept import Curve
from graphgym_nc.reports.paper.plot import plot_curves, plot_results
from graphgym_nc.reports.paper.runs import group
from tests.reports.paper.test_runs import CLUSTER, replace, seeds

RUNS = group([*seeds(CLUSTER, 2), replace(CLUSTER, config='nc_cluster_4l_100k_lean')])


@pytest.fixture
def is_drawn(tmp_path):
    """Whether something is drawn, and not on too many bytes."""
    path = tmp_path / 'plots' / 'plot.png'

    def drawn():
        return path.stat().st_size < 100_000 and matplotlib.image.imread(path).std() > 0.05

    return path, drawn


def test_results(is_drawn):
    path, drawn = is_drawn
    assert plot_results('sbm', RUNS, path)
    assert drawn()


def test_curves(is_drawn):
    path, drawn = is_drawn
    curves = [
        Curve(CLUSTER.config, '', split, 2, '1 2 3', '0.2 0.4 0.5') for split in ('train', 'val')
    ]
    assert plot_curves('sbm', RUNS, curves, path)
    assert drawn()


def test_nothing_to_draw(is_drawn):
    path, _ = is_drawn
    assert not plot_results('tu', RUNS, path)
    assert not plot_curves('sbm', RUNS, [Curve('nc_mutag', '', 'val', 1, '1', '0.5')], path)
    assert not path.exists()
