"""Graphs as OGB's own archive of ogbg-ppa holds them: text, every undirected edge in one row."""

import gzip

import numpy as np


def write_text(folder, graphs):
    raw, split = folder / 'raw', folder / 'split' / 'species'
    raw.mkdir(parents=True)
    split.mkdir(parents=True)
    (folder / 'RELEASE_v1.txt').touch()
    write_csv(raw / 'num-node-list.csv.gz', [[number] for number in graphs.num_nodes])
    write_csv(raw / 'num-edge-list.csv.gz', [[edges.shape[1]] for edges in graphs.edges])
    write_csv(raw / 'edge.csv.gz', np.concatenate([edges.T for edges in graphs.edges]))
    write_csv(raw / 'edge-feat.csv.gz', np.concatenate(graphs.features))
    write_csv(raw / 'graph-label.csv.gz', graphs.labels)
    for name, index in graphs.split.items():
        write_csv(split / f'{name}.csv.gz', index.reshape(-1, 1))


def write_csv(path, rows):
    with gzip.open(path, 'wt') as file:
        file.writelines(','.join(map(str, row)) + '\n' for row in rows)
