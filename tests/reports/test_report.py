from graphgym_nc.reports.report import report_grid, report_runs
from graphgym_nc.results.aggregate import agg_runs
from graphgym_nc.results.sweep import agg_sweep
from tests.reports.test_runs import write_seed


def test_runs(tmp_path, capsys):
    write_seed(tmp_path / 'nc_toy' / '0')
    agg_runs(tmp_path / 'nc_toy')
    report_runs([tmp_path / 'nc_toy'], tmp_path / 'out')
    assert '0.7000' in capsys.readouterr().out
    assert {path.name for path in (tmp_path / 'out').iterdir()} == {
        'report.md', 'report.csv', 'report.png',
    }  # fmt: skip


def test_a_grid_has_ranks_and_is_kept(tmp_path, capsys):
    for layers in (1, 2):
        write_seed(tmp_path / 'grid' / f'nc_toy-l={layers}' / '0', layers / 10)
    agg_sweep(tmp_path / 'grid')
    report_grid(tmp_path / 'grid', tmp_path / 'out', 0.0, tmp_path / 'design_toy.csv')
    printed = capsys.readouterr().out
    assert '1.00 ± 0.00 of 2' in printed
    assert len((tmp_path / 'design_toy.csv').read_text().splitlines()) == 3
    assert {path.name for path in (tmp_path / 'out').iterdir()} == {
        'report.md', 'report.csv', 'ranks.csv', 'ranks.png',
    }  # fmt: skip
