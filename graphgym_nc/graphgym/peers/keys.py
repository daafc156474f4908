"""The keys of the systems that NC-GNN is compared with, and how their structures are prepared."""

from graphgym_nc.graphgym.key import Key
from graphgym_nc.graphgym.rules import FLAG, above, integer, one_of

# fmt: off
GROUPS: dict[str, tuple[Key, ...]] = {
    'The systems NC-GNN is compared with: what they need to know of a graph': (
        Key('peers.prepare', one_of('auto', 'dataset', 'batch'),
            'When a graph\'s structures (subgraphs, hops, cells and so on) are found: once for '
            'the whole data set, and kept in memory and on disk, or anew for each batch. `auto` '
            'takes the data set if that fits into `peers.prepare_mb`', 'auto'),
        Key('peers.prepare_mb', above(0, 1e9),
            'Largest size of the structures of a whole data set, in MB', 4096.0),
    ),
    'The network `sat`, the Structure-Aware Transformer': (
        Key('peers.sat.extractor', one_of('subtree', 'subgraph'),
            'What queries and keys are made of: layers of `gnn.layer_type` on the graph, or on '
            'the subgraph around each node. The layers `pna2conv` and `pna3conv` are its '
            'authors\' choices', 'subtree'),
        Key('peers.sat.k', integer(1),
            'Number of these layers, and of hops of the subgraphs. From 5 on, training may blow '
            'up, as it does in its authors\' code: the layers before the normalisation add up '
            'many neighbours', 3),
        Key('peers.sat.walk_length', integer(0),
            'Number of steps after which random walks may be back, each of which is a feature of '
            'a node; 0 for no such features', 0),
        Key('peers.sat.heads', integer(1), 'Number of heads; must divide `gnn.dim_inner`', 8),
        Key('peers.sat.degree_scale', FLAG,
            'Whether what a node gets by attention is divided by the square root of its degree '
            'plus 1', True),
    ),
}
# fmt: on
