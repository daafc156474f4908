import pytest

from graphgym_nc.reports.paper.paired import paired_table
from graphgym_nc.reports.paper.published import EXPERIMENTS
from graphgym_nc.reports.paper.runs import group
from graphgym_nc.reports.paper.tables import (
    TITLES,
    cost_table,
    fullest,
    inner_table,
    result_table,
    target_table,
    twin,
)
from tests.reports.paper.test_runs import CLUSTER, PROTEINS, replace, seeds

COUNTING = replace(
    CLUSTER, config='nc_counting_regular', epochs=40, graphs=5000, metric='mae', test=0.0061
)


def test_results_beside_published_ones():
    row = replace(CLUSTER, test=0.7, epochs=20)
    frame = result_table('sbm', group(seeds(row, 2, 0.01))).set_index(['data', 'model'])
    line = frame.loc['CLUSTER, 4 layers, 100K', 'NC-GNN']
    assert line['ours'] == '70.50 ± 0.50'
    assert line['published'] == '69.335 ± 0.357'
    assert (line['verdict'], line['scale']) == ('better (reduced run)', 'reduced')
    assert (line['seeds'], line['epochs']) == ('2 of 4', '20 of 100')
    assert line['graphs'] == '12,000 of 12,000'
    assert line['parameters'] == '107,320 (paper: 107,320)'
    line = frame.loc['CLUSTER, 4 layers, 100K', 'GIN']
    assert (line['ours'], line['published'], line['verdict']) == (
        '-', '58.384 ± 0.236', 'not run',
    )  # fmt: skip


def test_of_one_seed_there_is_no_deviation():
    frame = result_table('counting', group([COUNTING])).set_index(['data', 'model'])
    line = frame.loc['regular graphs of Chen et al.', 'NC-GNN']
    assert (line['ours'], line['epochs']) == ('0.0061', '40 of 40 (not told)')


def test_a_summary_says_so():
    summary = replace(PROTEINS, kind='summary', run=None, runs=10, shared_val=0.737, std=0.064)
    (line,) = result_table('tu', group([summary])).query("ours != '-'").to_dict('records')
    assert (line['ours'], line['folds']) == ('73.7 ± 6.4', '10 of 10, summary of 2026-11-19')


def test_every_experiment_has_a_table():
    assert {experiment.table for experiment in EXPERIMENTS} == {*TITLES, 'targets'}
    for name in TITLES:
        frame = result_table(name, [])
        assert (frame['ours'] == '-').all()
        assert (frame['verdict'] == 'not run').all()


def test_other_systems_are_rows_of_their_own():
    rows = seeds(replace(PROTEINS, config='graph_snn_proteins'), 10)
    frame = result_table('tu', group(rows))
    assert frame[frame['ours'] != '-']['model'].tolist() == ['GraphSNN']


def test_the_fullest_run_is_shown():
    small = replace(CLUSTER, changes='optim.max_epoch 3', epochs=3)
    lean = replace(small, changes='nc.mlp2_layers 1 optim.max_epoch 3')
    other = replace(CLUSTER, changes='optim.scheduler cos')
    shown = fullest(group([small, CLUSTER, lean, other]))
    assert {run.rows[0].changes for run in shown} == {'', lean.changes, other.changes}


TARGETS = ('tailed_triangle', 'star', 'cycle4', 'chordal_cycle', 'clique4')


def test_targets():
    others = [
        replace(COUNTING, changes=f'nc.counting_target {target}', test=0.25 * i)
        for i, target in enumerate(TARGETS, start=1)
    ]
    rows = [COUNTING, replace(COUNTING, config='gin_counting_regular', test=0.25, epochs=3)]
    frame = target_table(group([row for row in [*rows, *others] for row in seeds(row, 2)]))
    assert frame.columns.tolist() == ['subgraph', 'gin_counting_regular', 'nc_counting_regular']
    assert frame.to_numpy().tolist() == [
        ['triangle', '0.2500 ± 0.0000 (reduced run)', '0.0061 ± 0.0000'],
        ['tailed triangle', '-', '0.2500 ± 0.0000'],
        ['star', '-', '0.5000 ± 0.0000'],
        ['cycle4', '-', '0.7500 ± 0.0000'],
        ['chordal cycle', '-', '1.0000 ± 0.0000'],
        ['clique4', '-', '1.2500 ± 0.0000'],
    ]


def test_each_target_is_paired():
    rows = [
        replace(COUNTING, config=config, changes=f'nc.counting_target {target}')
        for target in TARGETS
        for config in ('gin_counting_regular', 'nc_counting_regular')
    ]
    frame = paired_table(group([row for row in rows for row in seeds(row, 2)]))
    assert frame['data'].tolist() == [target.replace('_', ' ') for target in TARGETS]


def test_variants_are_chosen_on_inner_validation():
    inner = replace(PROTEINS, changes='dataset.split_mode cv-stratified-10-inner', epochs=20)
    worse = [replace(row, val=0.70, test=0.90) for row in seeds(inner, 2)]
    changes = f'{inner.changes} nc.communicate_aggr sqrt'
    better = [replace(row, val=0.75, test=0.60, changes=changes) for row in seeds(inner, 2)]
    frame = inner_table(group([*worse, *better]))
    assert frame['changes'].tolist() == ['nc.communicate_aggr sqrt', '-']
    assert frame['inner validation, %'].tolist() == ['75.0', '70.0']
    assert frame['the fold itself, %'].tolist() == ['60.0 ± 0.0', '90.0 ± 0.0']
    assert result_table('tu', group(worse)).query("ours != '-'").empty


def test_costs_are_beside_gin():
    nc = replace(CLUSTER, seconds=5.0, memory_mb=200, mmacs=53.25, inference_ms=None)
    gin = replace(nc, config='gin_cluster_4l_100k', seconds=2.0, memory_mb=100, mmacs=None)
    (line,) = cost_table(group([nc, gin])).to_dict('records')
    assert line['configurations'] == '`gin_cluster_4l_100k`, `nc_cluster_4l_100k`'
    assert (line['s per epoch'], line['ratio'], line['published ratio']) == ('2, 5', '2.50', 4.6)
    assert (line['peak MB'], line['million MACs per graph']) == ('100, 200', '-, 53.2')
    assert line['inference, ms per graph'] == '-, -'


@pytest.mark.parametrize(
    'other',
    [
        {'changes': 'nc.sbm_graphs [10,5,5]', 'graphs': 20},
        {'changes': 'train.batch_size 8'},
        {'machine': 'A100'},
        {'config': 'gin_cluster'},
        {'config': 'gin_cluster_4l_100k_residual'},
        {'kind': 'summary'},
        {'seconds': None},
    ],
)
def test_only_what_ran_alike_is_compared(other):
    gin = replace(CLUSTER, config='gin_cluster_4l_100k')
    assert len(cost_table(group([CLUSTER, gin]))) == 1
    assert cost_table(group([CLUSTER, replace(gin, **other)])).empty


def test_the_nearest_twin_is_taken():
    names = ('gin_proteins', 'gin_proteins_jk', 'nc_proteins_jk_lean')
    keyed = [replace(PROTEINS, config=name) for name in names]
    runs = group([*keyed, replace(keyed[2], changes='nc.communicate_aggr sqrt')])
    lean = [run for run in runs if run.model == 'NC-GNN']
    assert len(lean) == 2
    for run in lean:
        found = twin(run, runs)
        assert found is not None
        assert found.config == 'gin_proteins_jk'


@pytest.mark.parametrize(
    ('ours', 'other'),
    [
        ('nc_proteins_jk', 'gin_proteins'),  # two networks
        ('nc_cluster_4l_100k_outer', 'gin_cluster_4l_100k'),
        ('nc_cluster_4l_100k_lean_wide', 'gin_cluster_4l_100k'),
    ],
)
def test_another_network_is_no_twin(ours, other):
    row = CLUSTER if 'cluster' in ours else PROTEINS
    nc, gin = (replace(row, config=config) for config in (ours, other))
    runs = group([*seeds(nc, 10), *seeds(gin, 10)])
    assert cost_table(runs).empty
    assert paired_table(runs).empty


def test_a_configuration_that_is_gone_has_no_twin():
    row = replace(CLUSTER, config='nc_cluster_4l_100k_gone')
    assert cost_table(group([row, replace(row, config='gin_cluster_4l_100k_gone')])).empty


def test_graphs_may_be_told_or_not():
    gin = replace(CLUSTER, config='gin_cluster_4l_100k', changes='nc.sbm_graphs [10000,1000,1000]')
    assert len(cost_table(group([CLUSTER, gin]))) == 1


def test_published_costs():
    row = replace(CLUSTER, config='nc_cluster', parameters=508_972)
    (line,) = cost_table(group([row, replace(row, config='gin_cluster')])).to_dict('records')
    assert line['published MACs'] == '840'
