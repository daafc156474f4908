import pytest

from graphgym_nc.cli.report import main
from tests.run_files import write_paper_run


def test_the_paper_is_made_of_what_is_kept(tmp_path, capsys):
    write_paper_run(tmp_path / 'results' / 'nc_mutag', [0.7], runs=2)
    keep, out = tmp_path / 'kept.csv', tmp_path / 'out'
    main(['--paper', '--keep', str(keep), '--out', str(out), str(tmp_path / 'results')])
    assert f"2 folds or seeds are in '{keep}'" in capsys.readouterr().out
    page = (out / 'RESULTS.md').read_text()
    (out / 'RESULTS.md').unlink()
    main(['--paper', '--keep', str(keep), '--out', str(out)])
    assert (out / 'RESULTS.md').read_text() == page
    assert '70.5 ± 0.5' in page


def test_all_of_results_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_paper_run(tmp_path / 'results' / 'nc_mutag', [0.7])
    main(['--paper'])
    assert (tmp_path / 'results' / 'paper' / 'RESULTS.md').is_file()


@pytest.mark.parametrize(
    ('argv', 'error'),
    [
        ([], 'name folders, or --paper'),
        (['a', 'b', '--keep', 'c.csv'], '--keep is for --paper, or for one grid'),
        (['seeds', '--keep', 'c.csv'], '--keep is for --paper, or for one grid'),
        (['seeds', '--ties', '0.02'], '--ties is for one grid'),
        (['a', 'b', '--ties', '0'], '--ties is for one grid'),
        (['--paper', '--ties', '0.02'], '--ties is for one grid'),
    ],
)
def test_arguments_that_do_not_go_together(argv, error, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'seeds' / '0').mkdir(parents=True)
    with pytest.raises(SystemExit):
        main(argv)
    assert error in capsys.readouterr().err


def test_errors_have_no_traceback(tmp_path):
    keep = tmp_path / 'kept.csv'
    keep.write_text('kind\nrun\n')
    with pytest.raises(SystemExit, match=r"kept\.csv' cannot be read: KeyError: 'config'"):
        main(['--paper', '--keep', str(keep)])
    with pytest.raises(SystemExit, match='no-such-folder'):
        main([str(tmp_path / 'no-such-folder')])
