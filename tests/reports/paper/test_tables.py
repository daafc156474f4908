import json

import pytest

from graphgym_nc.reports.paper.published import EXPERIMENTS
from graphgym_nc.reports.paper.runs import find_runs
from graphgym_nc.reports.paper.tables import TITLES, result_table, time_table
from tests.run_files import write_paper_run


def test_results_beside_published_ones(tmp_path):
    write_paper_run(tmp_path / 'nc', [0.5, 0.7], runs=2)
    frame = result_table('sbm', find_runs(tmp_path)[0]).set_index(['data', 'model'])
    row = frame.loc['CLUSTER, 4 layers, 100K', 'NC-GNN']
    assert row['ours'] == '70.500 ± 0.500'
    assert row['published'] == '69.335 ± 0.357'
    assert row['difference'] == '+1.165'
    assert row['scale'].startswith('reduced (3 of 100 epochs')
    assert (row['folds or seeds'], row['epochs']) == ('2 of 4', '3 of 100')
    assert (row['parameters'], row['parameters (paper)']) == ('107,320', '107,320')
    assert (row['source'], row['run']) == ('made up', 'nc')
    row = frame.loc['CLUSTER, 4 layers, 100K', 'GIN']
    assert (row['ours'], row['published'], row['scale']) == ('-', '58.384 ± 0.236', 'not run')
    assert frame.loc['CLUSTER, 4 layers, 100K', 'PPGN (3 layers)']['scale'] == 'published only'


def test_errors_are_not_per_cent(tmp_path):
    write_paper_run(
        tmp_path / 'nc', [0.009, 0.004], metric='mae', dataset__name='TriangleCounting',
        record={'minimise': True},
    )  # fmt: skip
    frame = result_table('counting', find_runs(tmp_path)[0]).set_index('model')
    assert frame.loc['NC-GNN', 'ours'] == '0.0040'  # of one seed, there is no deviation
    assert frame.loc['NC-GNN', 'difference'] == '-0.0041'


def test_every_experiment_has_a_table():
    assert {experiment.table for experiment in EXPERIMENTS} == TITLES.keys()
    for name in TITLES:
        frame = result_table(name, [])
        assert {'ours', 'published', 'scale'} <= {*frame.columns}
        assert (frame['ours'] == '-').all()


def test_costs_are_measured(tmp_path):
    write_paper_run(tmp_path / 'gin', [0.5], gnn__layer_type='nc_ginconv', seconds=2.0)
    write_paper_run(tmp_path / 'nc', [0.5], seconds=5.0)
    cost = {'graphs': 20, 'seconds': 0.3, 'macs_per_graph': 53.25e6}
    (tmp_path / 'nc' / 'cost.json').write_text(json.dumps(cost))
    frame = time_table(find_runs(tmp_path)[0]).set_index('model')
    assert frame.loc['NC-GNN', 's/epoch'] == '5'
    assert frame['x GIN'].tolist() == ['1.00', '2.50']
    assert frame.loc['NC-GNN', 'x GIN (paper)'] == 4.6
    assert frame.loc['NC-GNN', 'MMACs/graph'] == '53.25'
    assert frame.loc['NC-GNN', 'inference ms/graph'] == '15.000'
    assert frame.loc['GIN', 'MMACs/graph'] == '-'
    assert frame['peak MB'].tolist() == [100, 100]
    assert frame['machine'].tolist() == ['1 CPU thread(s)'] * 2


@pytest.mark.parametrize(
    'other',
    [
        {'nc__sbm_graphs': [10, 5, 5]},
        {'train__batch_size': 8},
        {'gnn__dim_inner': 89},
        {'record': {'machine': {'gpus': ['A100']}}},
    ],
)
def test_only_what_ran_alike_is_compared(tmp_path, other):
    write_paper_run(tmp_path / 'gin', [0.5], gnn__layer_type='nc_ginconv', **other)
    write_paper_run(tmp_path / 'nc', [0.5])
    assert time_table(find_runs(tmp_path)[0])['x GIN'].tolist() == ['1.00', '-']


def test_runs_of_the_same_batch_are_compared(tmp_path):
    for batch, factor in (('idle', 1.0), ('busy', 10.0)):
        folder = tmp_path / batch
        write_paper_run(folder / 'gin', [0.5], gnn__layer_type='nc_ginconv', seconds=2 * factor)
        write_paper_run(folder / 'nc', [0.5], seconds=5 * factor)
    assert sorted(time_table(find_runs(tmp_path)[0])['x GIN']) == ['1.00', '1.00', '2.50', '2.50']


def test_published_costs(tmp_path):
    write_paper_run(tmp_path / 'nc', [0.5], gnn__layers_mp=16, params=508_972)
    (row,) = time_table(find_runs(tmp_path)[0]).to_dict('records')
    assert (row['paper: s/epoch'], row['paper: GPU MB']) == (48.87, 22386)
    assert (row['paper: MMACs/graph'], row['paper: inference s']) == (840, 5.18)
