"""Folders of results, made up."""

import json

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
    """Writes a configuration with several folds or seeds: `values` are a metric's
    on all splits, by epoch; the i-th fold or seed is better by i / 100.
    """
    config = {
        'dataset': {'name': 'CLUSTER', 'split_mode': 'random', 'transform': 'none'},
        'gnn': {'layer_type': 'ncgnnconv', 'layers_mp': 4, 'dim_inner': 70},
        'nc': {'sbm_graphs': [], 'counting_graphs': 5000, 'communicate_scale': 1.0},
        'train': {'batch_size': 32},
        'optim': {'base_lr': 0.001, 'scheduler': 'step'},
    }
    for key, value in keys.items():
        group, _, name = key.partition('__')
        if name:
            config[group][name] = value
    folder.mkdir(parents=True)
    (folder / 'config.yaml').write_text(json.dumps(config))
    metric = keys.get('metric', 'accuracy_sbm')
    for seed in range(runs):
        for split in keys.get('splits', ('train', 'val', 'test')):
            (folder / str(seed) / split).mkdir(parents=True)
            rows = [
                {'epoch': epoch, metric: values[epoch % len(values)] + seed / 100,
                 'params': keys.get('params', 107_320), 'time_epoch': keys.get('seconds', 2.0),
                 'memory_mb': 100}
                for epoch in range(epochs)
            ]  # fmt: skip
            text = ''.join(json.dumps(row) + '\n' for row in rows)
            (folder / str(seed) / split / 'stats.json').write_text(text)
        facts = {**RECORD, 'metric': metric, 'machine': {'threads': 1}, **(record or {})}
        (folder / str(seed) / 'run.json').write_text(json.dumps(facts))
