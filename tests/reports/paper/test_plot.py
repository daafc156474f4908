import pytest
from matplotlib.collections import PolyCollection
from matplotlib.container import ErrorbarContainer

from graphgym_nc.reports.paper.kept import Curve
from graphgym_nc.reports.paper.plot import plot_curves, plot_results
from graphgym_nc.reports.paper.runs import group
from tests.reports.paper.test_runs import CLUSTER, replace, seeds

RUNS = group([*seeds(CLUSTER, 2, 0.01), replace(CLUSTER, config='nc_cluster_4l_100k_lean')])


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'plots' / 'plot.png'


def test_results(path, figures):
    assert plot_results('sbm', RUNS, path)
    assert 0 < path.stat().st_size < 100_000  # pictures are kept in the repository
    (axis,) = figures[0].axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels == ['GIN', 'RingGNN', 'PPGN', 'NC-GNN', 'NC-GNN: lean']
    bars = [bar for bar in axis.containers if isinstance(bar, ErrorbarContainer)]
    dots = [bar.lines[0].get_xydata().tolist() for bar in bars]
    assert dots == [[pytest.approx([69.5, 3])], [pytest.approx([69.0, 4])]]
    (ends,) = bars[0].lines[2][0].get_segments()
    assert ends[:, 0] == pytest.approx([69.0, 70.0])  # one deviation of 69 and 70
    assert not bars[1].has_xerr  # one seed
    bands = [band for band in axis.collections if isinstance(band, PolyCollection)]
    middles = [band.get_datalim(axis.transData).intervalx.mean() for band in bands]
    assert middles == pytest.approx([58.384, 42.418, 57.130, 69.335, 69.335])  # as published


def test_curves(path, figures):
    curves = [
        Curve(CLUSTER.config, '', split, 2, '1 2 3', values)
        for split, values in (('train', '0.3 0.5 0.6'), ('val', '0.2 0.4 0.5'), ('test', '0 0 0'))
    ]
    assert plot_curves('sbm', RUNS, curves, path)
    assert 0 < path.stat().st_size < 100_000
    (axis,) = figures[0].axes
    train, val = axis.lines
    assert (train.get_linestyle(), val.get_linestyle()) == ('--', '-')
    assert train.get_ydata() == pytest.approx([30, 50, 60])
    assert val.get_xydata().tolist() == [
        pytest.approx(point) for point in ([1, 20], [2, 40], [3, 50])
    ]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [CLUSTER.config]


def test_nothing_to_draw(path):
    assert not plot_results('tu', RUNS, path)
    assert not plot_curves('sbm', RUNS, [Curve('nc_mutag', '', 'val', 1, '1', '0.5')], path)
    assert not path.exists()
