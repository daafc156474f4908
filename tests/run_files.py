"""Folders of results, made up."""

import json

import yaml

from graphgym_nc.utils.packaged import packaged

RECORD = {'status': 'DONE', 'metric': 'acc', 'minimise': False, 'data_source': 'made up'}


def write_run(folder, record=None, **splits):
    """Writes one seed: for each split, pairs of epoch and value; `record` is
    what differs from the usual record, or False for none.
    """
    for split, values in splits.items():
        (folder / split).mkdir(parents=True)
        rows = [
            {'epoch': epoch, 'acc': value, 'mae': value, 'params': 42, 'time_epoch': 2.0,
             'lr': 0.1, 'eta': 1.0}
            for epoch, value in values
        ]  # fmt: skip
        text = ''.join(json.dumps(row) + '\n' for row in rows)
        (folder / split / 'stats.json').write_text(text)
    if record is not False:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'run.json').write_text(json.dumps({**RECORD, **(record or {})}))


def write_paper_run(folder, values, runs=1, epochs=3, record=None, **keys):
    """Writes a packaged configuration, by the name of the folder, with several folds or seeds.

    `values` are the metric on all splits, by epoch; the i-th fold or seed is better by i / 100.
    Keys such as `nc__sbm_graphs` differ from the configuration.
    """
    config = yaml.safe_load(packaged('configs', folder.name.partition('-')[0]).read_text())
    config['gnn'].setdefault('head', config['dataset']['task'])  # as GraphGym does
    changes = {key: value for key, value in keys.items() if '__' in key}
    for key, value in changes.items():
        group, _, name = key.partition('__')
        config[group][name] = value
    folder.mkdir(parents=True)
    (folder / 'config.yaml').write_text(json.dumps({'nc': {}, **config}))
    metric = config['metric_best']
    folds = 'cv-stratified' in config['dataset'].get('split_mode', '')
    splits = ('train', 'val') if folds else ('train', 'val', 'test')
    for seed in range(runs):
        for split in keys.get('splits', splits):
            (folder / str(seed) / split).mkdir(parents=True)
            rows = [
                {'epoch': epoch, metric: round(values[epoch % len(values)] + seed / 100, 6),
                 'params': keys.get('params', 107_320), 'time_epoch': keys.get('seconds', 2.0),
                 'memory_mb': 100}
                for epoch in range(epochs)
            ]  # fmt: skip
            text = ''.join(json.dumps(row) + '\n' for row in rows)
            (folder / str(seed) / split / 'stats.json').write_text(text)
        facts = {
            **RECORD, 'metric': metric, 'minimise': metric == 'mae', 'commit': 'abc',
            'ended': '2026-11-19T01:02:03+00:00', 'graphs': keys.get('graphs', 12_000),
            'machine': {'system': 'Linux-6-x86_64', 'cpus': 2, 'threads': 1},
            'config': {key.replace('__', '.'): value for key, value in changes.items()},
            **(record or {}),
        }  # fmt: skip
        (folder / str(seed) / 'run.json').write_text(json.dumps(facts))
