import matplotlib.image

from graphgym_nc.reports.paper.plot import plot_results, plot_times
from graphgym_nc.reports.paper.runs import find_runs
from tests.run_files import write_paper_run


def test_something_is_drawn(tmp_path):
    write_paper_run(tmp_path / 'gin', [0.5], gnn__layer_type='nc_ginconv')
    write_paper_run(tmp_path / 'nc', [0.6], runs=2)
    write_paper_run(tmp_path / 'scaled', [0.6], nc__communicate_scale=0.1)
    runs, _ = find_runs(tmp_path)
    path = tmp_path / 'plots' / 'sbm.png'
    plot_results('sbm', runs, path)
    assert matplotlib.image.imread(path).std() > 0.05
    assert plot_times(runs, tmp_path / 'time.png')
    assert matplotlib.image.imread(tmp_path / 'time.png').std() > 0.05


def test_no_times_without_a_baseline(tmp_path):
    write_paper_run(tmp_path / 'nc', [0.6])
    assert not plot_times(find_runs(tmp_path)[0], tmp_path / 'time.png')
    assert not (tmp_path / 'time.png').exists()
