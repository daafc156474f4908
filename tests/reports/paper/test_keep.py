import json

import pytest

from graphgym_nc.reports.paper.keep import keep_runs
from tests.run_files import write_paper_run


def test_a_row_has_both_rules(tmp_path):
    folder = tmp_path / 'nc_cluster_4l_100k'
    write_paper_run(folder, [0.5, 0.75, 0.625], runs=2, nc__sbm_graphs=[8, 2, 2])
    stats = folder / '1' / 'val' / 'stats.json'  # this seed is best at its first epoch
    lines = [json.loads(line) for line in stats.read_text().splitlines()]
    lines[0]['accuracy_sbm'] = 0.875
    stats.write_text('\n'.join(map(json.dumps, lines)) + '\n')
    cost = {'macs_per_graph': 2e6, 'seconds': 0.5, 'graphs': 100}
    (folder / 'cost.json').write_text(json.dumps(cost))

    (first, second), curves, others = keep_runs([tmp_path])
    assert others == []
    assert (first.epoch, first.val, first.test) == (2, 0.75, 0.75)
    assert (second.epoch, second.val, second.test) == (1, 0.875, 0.51)
    # Means on validation: 0.6875, 0.755 and 0.63.
    assert (second.shared_epoch, second.shared_val, second.shared_test) == (2, 0.76, 0.76)
    assert (second.run, second.runs, second.kind) == (1, 1, 'run')
    assert second.changes == 'nc.sbm_graphs [8,2,2]'
    assert (second.epochs, second.planned, second.graphs) == (3, 100, 12_000)
    assert (second.mmacs, second.inference_ms, second.memory_mb) == (2.0, 5.0, 100)
    assert (second.commit, second.date) == ('abc', '2026-11-19')
    assert second.machine == 'x86_64, 1 of 2 cores'
    assert [curve.split for curve in curves] == ['train', 'val', 'test']
    assert (curves[1].epochs, curves[1].values) == ('1 2 3', '0.6875 0.755 0.63')


def test_long_curves_are_thinned(tmp_path):
    write_paper_run(tmp_path / 'nc_mutag', [0.5, 0.75], epochs=350)
    (curve, _) = keep_runs([tmp_path])[1]
    epochs = [int(epoch) for epoch in curve.epochs.split()]
    assert len(epochs) == 40
    assert (epochs[0], epochs[-1]) == (1, 350)
    assert curve.values.split() == ['0.5' if epoch % 2 else '0.75' for epoch in epochs]


def test_a_grid_says_what_it_chose(tmp_path):
    name = 'nc_counting_regular-target=star'
    write_paper_run(tmp_path / 'grid' / name, [0.5], nc__counting_target='star')
    ((row,), _, _) = keep_runs([tmp_path])
    assert (row.config, row.changes) == ('nc_counting_regular', 'nc.counting_target star')


def test_keys_at_their_packaged_value_are_no_change(tmp_path):
    write_paper_run(tmp_path / 'nc_mutag', [0.5], optim__max_epoch=350, out_dir='elsewhere')
    ((row,), _, _) = keep_runs([tmp_path])
    assert row.changes == ''


def test_what_is_left_out_is_named(tmp_path):
    write_paper_run(tmp_path / 'a' / 'nc_mutag', [0.5], dataset__name='PROTEINS')
    write_paper_run(tmp_path / 'b' / 'nc_mutag', [0.5], record={'metric': 'auc'})
    write_paper_run(tmp_path / 'c' / 'nc_mutag', [0.5], record={'status': 'RUNNING'})
    write_paper_run(tmp_path / 'd' / 'nc_mutag', [0.5])
    (tmp_path / 'd' / 'nc_mutag' / 'config.yaml').write_text('')
    (tmp_path / 'd' / 'nc_mutag').rename(tmp_path / 'd' / 'nc_mutag-l=1')
    write_paper_run(tmp_path / 'e' / 'nc_mutag', [0.5])
    (tmp_path / 'e' / 'nc_mutag').rename(tmp_path / 'e' / 'mine')
    rows, curves, others = keep_runs([tmp_path])
    assert rows == curves == []
    reasons = (
        "its data are 'PROTEINS'", "no value of 'auc'", 'no seed is DONE',
        'no configuration of this package', "'mine' is no configuration of the package",
    )  # fmt: skip
    for text, reason in zip(others, reasons, strict=True):
        assert reason in text


def test_two_folders_of_one_run_do_not_mix(tmp_path):
    write_paper_run(tmp_path / 'a_old' / 'nc_cluster', [0.1], runs=4)
    write_paper_run(tmp_path / 'b_new' / 'nc_cluster', [0.7], runs=2)
    with pytest.raises(ValueError, match=r"a_old/nc_cluster' and '.*/b_new/nc_cluster' have the"):
        keep_runs([tmp_path])
    assert len(keep_runs([tmp_path / 'b_new'])[0]) == 2


@pytest.mark.parametrize('gpus', [[], ['A100', 'A100']])
def test_machines(tmp_path, gpus):
    record = {'machine': {'system': 'Linux-6-aarch64', 'threads': 4, 'cpus': 8, 'gpus': gpus}}
    write_paper_run(tmp_path / 'nc_mutag', [0.5], record=record)
    ((row,), _, _) = keep_runs([tmp_path])
    assert row.machine == ('A100, A100' if gpus else 'aarch64, 4 of 8 cores')
