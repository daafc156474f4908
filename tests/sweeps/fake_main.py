"""Stands in for run/main.py: writes what a run writes, in no time.

What it does, the configuration says: `optim.max_epoch` epochs, a failure if
`gnn.act` is 'selu', and as many tenths of a second as `train.ckpt_period`.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import yaml


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--cfg', type=Path)
    parser.add_argument('--prepare', action='store_true')
    args, rest = parser.parse_known_args()
    opts = dict(zip(rest[::2], rest[1::2], strict=True))
    config = yaml.safe_load(args.cfg.read_text())
    if args.prepare:
        (Path(opts['out_dir']) / 'prepared').open('a').write(f'{args.cfg.stem}\n')
        return
    run_dir = Path(opts['out_dir']) / args.cfg.stem / opts['seed']
    with (run_dir / 'starts').open('a') as file:
        keep = ('OMP_NUM_THREADS', 'CUDA_VISIBLE_DEVICES')
        env = {key: os.environ.get(key) for key in keep}
        file.write(json.dumps({'pid': os.getpid(), **opts, **env}) + '\n')
    record = {'seed': int(opts['seed']), 'data_source': 'made up', 'metric': 'mae'}
    write(run_dir, {**record, 'minimise': True, 'status': 'RUNNING'})
    if config['gnn'].get('act') == 'selu':
        write(run_dir, {**record, 'minimise': True, 'status': 'FAILED', 'reason': 'selu'})
        sys.exit('fake_main.py: selu is not to be had')
    time.sleep(config.get('train', {}).get('ckpt_period', 0) / 10)
    for split in ('train', 'val', 'test'):
        (run_dir / split).mkdir(exist_ok=True)
        rows = [
            {'epoch': epoch, 'mae': config['gnn']['layers_mp'] / (epoch + 1), 'params': 7,
             'time_epoch': 0.5, 'lr': 0.1, 'eta': 0.0}
            for epoch in range(config['optim']['max_epoch'])
        ]  # fmt: skip
        lines = ''.join(json.dumps(row) + '\n' for row in rows)
        (run_dir / split / 'stats.json').write_text(lines)
    write(run_dir, {**record, 'minimise': True, 'status': 'DONE'})


def write(run_dir, record):
    (run_dir / 'run.json').write_text(json.dumps(record))


if __name__ == '__main__':
    main()
