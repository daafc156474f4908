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
