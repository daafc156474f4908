import pytest

from graphgym_nc.reports.paper.kept import Row, curves_path, read_kept
from graphgym_nc.reports.paper.report import report_paper
from tests.run_files import write_paper_run


def test_runs_are_kept_and_the_page_is_of_them_alone(tmp_path):
    keep, results = tmp_path / 'kept' / 'results.csv', tmp_path / 'results'
    for name, value in (('gin_mutag', 0.7), ('nc_mutag', 0.8)):
        write_paper_run(results / name, [value], runs=2, epochs=350, graphs=188)
    report_paper([results], keep, tmp_path / 'first')
    assert len(read_kept(keep, Row)) == 4
    before = [path.read_bytes() for path in (keep, curves_path(keep))]
    report_paper([], keep, tmp_path / 'second')
    assert [path.read_bytes() for path in (keep, curves_path(keep))] == before
    first, second = (tmp_path / name / 'RESULTS.md' for name in ('first', 'second'))
    assert first.read_text() == second.read_text()
    assert '80.5 ± 0.5' in second.read_text()
    for name in ('results_sparse.png', 'curves_sparse.png'):
        assert (tmp_path / 'second' / 'docs' / 'images' / name).is_file()


def test_new_runs_join_those_that_are_kept(tmp_path):
    keep = tmp_path / 'results.csv'
    for name in ('gin_mutag', 'nc_mutag'):
        write_paper_run(tmp_path / name / name, [0.7])
        report_paper([tmp_path / name], keep, tmp_path)
    assert [row.config for row in read_kept(keep, Row)] == ['gin_mutag', 'nc_mutag']


def test_nothing_is_kept_unless_asked_for(tmp_path, capsys):
    write_paper_run(tmp_path / 'results' / 'nc_mutag', [0.7])
    write_paper_run(tmp_path / 'results' / 'gin_mutag', [0.7], record={'status': 'FAILED'})
    report_paper([tmp_path / 'results'], None, tmp_path / 'out')
    assert not list(tmp_path.rglob('*.csv'))
    assert 'no seed is DONE' in capsys.readouterr().out
    page = (tmp_path / 'out' / 'RESULTS.md').read_text()
    assert '| MUTAG  | NC-GNN  | `nc_mutag`      | 70.0 ' in page


def test_a_template_is_filled(tmp_path):
    write_paper_run(tmp_path / 'results' / 'nc_mutag', [0.7])
    template = tmp_path / 'RESULTS.in'
    template.write_text(
        'MUTAG: {figure nc_mutag}. {table ppa}\n{plot curves_sparse}\n\n{plot results_tu}\n\n'
        '{table cost}, {ranks}, { this }'
    )
    report_paper([tmp_path / 'results'], tmp_path / 'results.csv', tmp_path)
    page = (tmp_path / 'RESULTS.md').read_text()
    assert page.startswith('MUTAG: 70.0. | data ')
    assert page.count('![') == 1
    assert '(docs/images/curves_sparse.png)\n\nNothing' in page
    assert page.endswith('\nNothing has been run yet., Nothing has been run yet., { this }')


@pytest.mark.parametrize(
    'field', ['{table x}', '{figure gin_mutag}', '{plot tu}', '{plot results_x}', '{rule x}']
)
def test_an_unknown_field_is_named(tmp_path, field):
    write_paper_run(tmp_path / 'results' / 'nc_mutag', [0.7])
    (tmp_path / 'RESULTS.in').write_text(f'Some text {field}')
    with pytest.raises(ValueError, match=f"RESULTS.in: there is no field '{field}'"):
        report_paper([tmp_path / 'results'], tmp_path / 'results.csv', tmp_path)


def test_what_a_table_stumbles_over_is_no_unknown_field(tmp_path):
    write_paper_run(tmp_path / 'results' / 'nc_mutag', [0.7])
    (tmp_path / 'RESULTS.in').write_text('{ranks}')
    (tmp_path / 'design_toy.csv').write_text('no_score\n1\n')
    with pytest.raises(KeyError, match='score'):
        report_paper([tmp_path / 'results'], tmp_path / 'results.csv', tmp_path)


def test_nothing_to_report(tmp_path):
    write_paper_run(tmp_path / 'nc_mutag', [0.7], record={'status': 'RUNNING'})
    with pytest.raises(FileNotFoundError, match=r'no finished run of the paper in .*\n.*DONE'):
        report_paper([tmp_path], None, tmp_path)
