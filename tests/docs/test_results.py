"""The page of results is what the figures in the repository give."""

import re

from graphgym_nc.reports.grids import read_grid
from graphgym_nc.reports.paper.kept import Curve, Row, curves_path, read_kept
from graphgym_nc.reports.paper.report import page
from graphgym_nc.reports.paper.runs import group
from graphgym_nc.utils.packaged import packaged_names
from tests.docs.pages import DOCS, ROOT

KEPT = DOCS / 'results' / 'results.csv'


def test_page_is_up_to_date() -> None:
    written = (ROOT / 'RESULTS.md').read_text()
    curves = read_kept(curves_path(KEPT), Curve)
    assert written == page(group(read_kept(KEPT, Row)), curves, KEPT), (
        'run graphgym-nc report --paper --keep docs/results/results.csv --out .'
    )


def test_rows_are_of_packaged_configurations() -> None:
    rows = [*read_kept(KEPT, Row), *read_kept(curves_path(KEPT), Curve)]
    assert {row.config for row in rows} <= set(packaged_names('configs'))


def test_rows_of_runs_say_where_they_come_from() -> None:
    for row in read_kept(KEPT, Row):
        if row.kind == 'run':
            assert row.commit, row.key
            assert row.date, row.key
        else:
            assert row.kind == 'summary'
            assert row.run is None, row.key


def test_pictures_are_there() -> None:
    pictures = re.findall(r'!\[[^\]]*\]\((.+?)\)', (ROOT / 'RESULTS.md').read_text())
    assert pictures
    for name in pictures:
        assert (ROOT / name).stat().st_size < 150_000


def test_grids_can_be_read() -> None:
    for path in KEPT.parent.glob('design_*.csv'):
        assert read_grid(path)[0]


def test_no_figure_is_typed() -> None:
    """Where the template tells of a result, a field stands for it."""
    template = (KEPT.parent / 'RESULTS.in').read_text()
    assert not re.search(r'\d\.\d+ ±|\d+\.\d+ ?%', template)
