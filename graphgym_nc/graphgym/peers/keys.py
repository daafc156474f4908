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
    'The networks `sin` and `cin`': (
        Key('peers.cin.max_ring', integer(4, 20),
            'Largest number of nodes of a ring, of `cin`; `sin` has triangles alone', 6),
        Key('peers.cin.init', one_of('sum', 'mean'),
            'What edges and rings start from: the sum or the mean of their nodes', 'sum'),
        Key('peers.cin.coboundaries', FLAG,
            'Whether a message between two nodes also says what their edge is, and one between '
            'two edges what their ring is', True),
        Key('peers.cin.edge_features', FLAG,
            'Whether edges start from a linear map of their features instead, those of '
            '`dataset.edge_encoder` if that is on', False),
    ),
    'The network `k123`': (
        Key('peers.k123.labels', FLAG,
            'Whether pairs and triples of nodes start with the labels of these, too: node '
            'features must be one-hot. Their numbers of edges they always start with', False),
        Key('peers.k123.layers_sets', integer(1), 'Number of layers for pairs, and for triples',
            2),
    ),
}
# fmt: on
