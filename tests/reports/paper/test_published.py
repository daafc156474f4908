from pathlib import Path

import yaml

from graphgym_nc.reports.paper.published import COSTS, EXPERIMENTS, RELATIVE_TIME, STATISTICS
from graphgym_nc.reports.paper.runs import find_experiment


def test_every_experiment_has_our_models_and_data():
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(names) == len(set(names))
    for experiment in EXPERIMENTS:
        assert ('NC-GNN' in experiment.results) == (experiment.table != 'targets')
        graphs = getattr(STATISTICS.get(experiment.dataset), 'graphs', None)
        assert graphs in (None, experiment.graphs)
    assert RELATIVE_TIME.keys() <= STATISTICS.keys()
    assert {name for name, _ in COSTS} <= {experiment.name for experiment in EXPERIMENTS}


def test_configurations_train_as_the_paper_does():
    checked = set()
    for path in sorted((Path(__file__).parents[3] / 'configs').glob('*.yaml')):
        config = yaml.safe_load(path.read_text())
        name = config['dataset'].get('name', '').replace('ogbg_', 'ogbg-')
        paper = find_experiment(path.stem, '')
        assert paper.dataset == name, path
        assert paper.layers in (None, config['gnn']['layers_mp']), path
        assert config['optim']['base_lr'] == paper.rate, path
        assert config['optim']['scheduler'] == paper.scheduler, path
        assert config['train']['batch_size'] == paper.batch_size, path
        assert config['optim']['max_epoch'] == paper.epochs, path
        checked.add(paper.name)
    assert checked == {paper.name for paper in EXPERIMENTS if paper.table != 'targets'}


def test_margins_that_the_text_prints():
    def margin(dataset):
        best = {
            model: max(
                e.results[model].mean
                for e in EXPERIMENTS
                if e.dataset == dataset and model in e.results
            )
            for model in ('GIN', 'NC-GNN')
        }
        return round(best['NC-GNN'] - best['GIN'], 3)

    assert margin('PATTERN') == 1.142
    assert margin('CLUSTER') == 12.002
    assert margin('ogbg-ppa') == 3.02
    assert margin('COLLAB') == 2.3
