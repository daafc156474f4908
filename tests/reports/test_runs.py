import pytest

from graphgym_nc.reports.runs import (
    Run,
    grid_table,
    load_grid,
    plot_curves,
    score,
    table,
)
from graphgym_nc.results.aggregate import agg_runs
from graphgym_nc.results.sweep import agg_sweep
from tests.run_files import write_run

VALUES = (0.5, 0.7, 0.6)


def write_seed(folder, shift=0.0, **record):
    values = [(epoch, value + shift) for epoch, value in enumerate(VALUES)]
    write_run(folder, record, train=values, val=values, test=values)


@pytest.fixture
def runs(tmp_path):
    """Two models on a task of three epochs, with two seeds and one."""
    for name, seeds in (('gin_toy', 1), ('nc_toy', 2)):
        for seed in range(seeds):
            write_seed(tmp_path / name / str(seed), seed / 10)
        agg_runs(tmp_path / name)
    return [Run.load(tmp_path / name) for name in ('gin_toy', 'nc_toy')]


def test_table(runs):
    frame = table(runs)
    assert frame['run'].tolist() == ['gin_toy', 'nc_toy']
    assert frame['test'].tolist() == ['0.7000', '0.7500 ± 0.0500']
    assert frame['seeds'].tolist() == [1, 2]
    assert frame['epochs'].tolist() == [3, 3]
    assert frame['s/epoch'].tolist() == [2.0, 2.0]
    assert frame['parameters'].tolist() == [42, 42]
    assert frame['data'].tolist() == ['made up', 'made up']


def test_plot(runs, tmp_path, figures):
    plot_curves(runs, tmp_path / 'plots' / 'curves.png')
    assert (tmp_path / 'plots' / 'curves.png').stat().st_size > 0
    (axis,) = figures[0].axes  # both are of one task
    gin, gin_best, nc, nc_best = (line.get_xydata().tolist() for line in axis.lines)
    assert gin == [pytest.approx(point) for point in ([1, 0.5], [2, 0.7], [3, 0.6])]
    assert nc == [pytest.approx(point) for point in ([1, 0.55], [2, 0.75], [3, 0.65])]
    assert (gin_best, nc_best) == ([pytest.approx([2, 0.7])], [pytest.approx([2, 0.75])])
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ['gin_toy', 'nc_toy']
    band = axis.collections[1].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.5, 0.8))  # from the worst to the best


def test_no_results(tmp_path):
    with pytest.raises(FileNotFoundError, match='no aggregated results'):
        Run.load(tmp_path)


def test_seeds_that_do_not_count(tmp_path):
    write_seed(tmp_path / 'nc_toy' / '0')
    write_run(tmp_path / 'nc_toy' / '1', {'status': 'RUNNING'}, train=[(0, 1)])
    agg_runs(tmp_path / 'nc_toy')
    run = Run.load(tmp_path / 'nc_toy')
    assert len(run.curves('train')) == 1
    assert table([run])['seeds'].tolist() == [1]


def test_folds_without_a_test_are_all_at_the_same_epoch(tmp_path, figures):
    for fold, values in enumerate([(0.5, 0.9, 0.6), (0.9, 0.5, 0.7)]):
        rows = list(enumerate(values))
        write_run(tmp_path / 'nc_toy' / str(fold), train=rows, val=rows)
    agg_runs(tmp_path / 'nc_toy')
    run = Run.load(tmp_path / 'nc_toy')
    assert table([run])['val'].tolist() == ['0.7000 ± 0.2000']  # not 0.9
    plot_curves([run], tmp_path / 'curves.png')
    (axis,) = figures[0].axes
    curve, best = axis.lines
    assert curve.get_ydata() == pytest.approx([0.7, 0.7, 0.65])
    assert best.get_xydata().tolist() == [pytest.approx([1, 0.7])]
    assert axis.get_ylabel() == 'val acc'


def test_plot_of_seeds_of_different_length(tmp_path, figures):
    write_seed(tmp_path / 'nc_toy' / '0')
    write_run(tmp_path / 'nc_toy' / '1', val=[(0, 0.1)], test=[(0, 0.2)])
    agg_runs(tmp_path / 'nc_toy')
    plot_curves([Run.load(tmp_path / 'nc_toy')], tmp_path / 'curves.png')
    (axis,) = figures[0].axes
    assert axis.lines[0].get_xydata().tolist() == [pytest.approx([1, 0.35])]  # of 0.5 and 0.2


@pytest.mark.parametrize('minimise', [False, True])
def test_grid(tmp_path, minimise):
    for layers in (1, 2, 3):
        metric = 'mae' if minimise else 'acc'
        folder = tmp_path / f'nc_toy-l={layers}-act=relu' / '0'
        write_seed(folder, layers / 10, metric=metric, minimise=minimise)
    agg_sweep(tmp_path)
    runs = load_grid(tmp_path)
    frame = grid_table(runs)
    # Best first; 'act' is always the same.
    assert frame['l'].tolist() == (['1', '2', '3'] if minimise else ['3', '2', '1'])
    assert frame.columns[:3].tolist() == ['l', 'metric', 'test']
    assert frame['test'][0] == ('0.6000' if minimise else '1.0000')
    _, values = max(runs, key=lambda pair: score(pair[0]))
    assert values == {'l': 1 if minimise else 3, 'act': 'relu'}


def test_grid_of_one(tmp_path):
    write_seed(tmp_path / 'nc_toy-l=1' / '0')
    agg_sweep(tmp_path)
    assert grid_table(load_grid(tmp_path))['run'].tolist() == ['nc_toy-l=1']


def test_grid_without_results(tmp_path):
    with pytest.raises(FileNotFoundError, match='no aggregated results'):
        load_grid(tmp_path)
