"""The table of expressiveness is that of the file it is kept in."""

from pathlib import Path

import pandas as pd

from graphgym_nc.wl.expressiveness import methods, to_markdown

DOCS = Path(__file__).parents[2] / 'docs'
TABLE = pd.read_csv(DOCS / 'results' / 'expressiveness.csv', index_col='method').astype('Int64')


def test_the_page_has_the_table():
    assert to_markdown(TABLE) in (DOCS / 'expressiveness.md').read_text()


def test_rows_are_of_methods_in_their_order():
    names = [method.name for method in methods()]
    assert list(TABLE.index) == [name for name in names if name in TABLE.index]
