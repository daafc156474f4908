from dataclasses import replace

import pytest

from graphgym_nc.reports.paper.kept import (
    Curve,
    Row,
    curves_path,
    merge,
    read_kept,
    write_kept,
)

ROW = Row(
    kind='run', config='nc_mutag', changes='optim.steps [1,2] optim.base_lr 0.1', run=0, runs=1,
    metric='accuracy', epoch=3, val=0.75, test=None, shared_epoch=2, shared_val=0.5,
    shared_test=None, std=None, epochs=4, planned=5, graphs=188, source='TU, with "labels"',
    parameters=15_589, seconds=0.25, memory_mb=None, mmacs=1.5, inference_ms=None, commit='abc',
    date='2026-11-19', machine='x86_64, 1 of 2 cores',
)  # fmt: skip


def test_what_is_written_is_read(tmp_path):
    rows = [ROW, replace(ROW, kind='summary', run=None, runs=10, std=0.125, commit='', note='!')]
    write_kept(tmp_path / 'kept.csv', rows)
    assert read_kept(tmp_path / 'kept.csv', Row) == rows
    assert type(read_kept(tmp_path / 'kept.csv', Row)[0].val) is float


def test_curves_lie_beside(tmp_path):
    path = curves_path(tmp_path / 'kept.csv')
    assert path == tmp_path / 'kept_curves.csv'
    curve = Curve('nc_mutag', '', 'val', 10, '1 3', '0.5 0.625')
    write_kept(path, [curve])
    assert read_kept(path, Curve) == [curve]


def test_no_file_has_no_rows(tmp_path):
    assert read_kept(tmp_path / 'kept.csv', Row) == []


@pytest.mark.parametrize(
    ('before', 'after', 'error'),
    [(',0.75,', ',three,', "ValueError: could not convert.*'three'"), ('val,', 'v,', "'val'")],
)
def test_a_broken_file_is_named(tmp_path, before, after, error):
    path = tmp_path / 'kept.csv'
    write_kept(path, [ROW])
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(ValueError, match=f'kept.csv.*{error}'):
        read_kept(path, Row)


def test_rows_are_replaced_and_never_lost():
    others = [
        replace(ROW, run=1),
        replace(ROW, config='gin_mutag'),
        replace(ROW, changes=''),
        replace(ROW, kind='summary'),
    ]
    better = replace(ROW, val=0.875)
    merged = merge([ROW, *others], [better])
    assert len(merged) == 5
    assert better in merged
    assert all(other in merged for other in others)


def test_rows_are_in_order(tmp_path):
    rows = [replace(ROW, run=run) for run in (10, 2)] + [replace(ROW, config='gin_mutag')]
    write_kept(tmp_path / 'kept.csv', rows)
    read = read_kept(tmp_path / 'kept.csv', Row)
    assert [(row.config, row.run) for row in read] == [
        ('gin_mutag', 0), ('nc_mutag', 2), ('nc_mutag', 10),
    ]  # fmt: skip
