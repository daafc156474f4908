"""The keys of the systems that NC-GNN is compared with, and how their structures are prepared."""

from graphgym_nc.graphgym.key import Key
from graphgym_nc.graphgym.rules import FLAG, above, below_one, number, one_of

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
    'GraphSNN: the layers `graph_snnconv` and `graph_snneconv`': (
        Key('peers.graph_snn.power', number(0, 10),
            'The exponent of the number of nodes in a structural coefficient: 2 to classify '
            'graphs, 1 to classify nodes (the paper)', 2.0),
        Key('peers.graph_snn.mlp_dropout', below_one(),
            'Dropout within the MLP of `graph_snnconv`, before each activation (the paper: 0.6)',
            0.0),
        Key('peers.graph_snn.dropout', below_one(),
            'Dropout on the output of `graph_snnconv` (the paper: 0.5), for networks in which '
            '`gnn.dropout` acts elsewhere', 0.0),
    ),
    'EB-GNN: the network `eb_gnn`': (
        Key('peers.eb_gnn.residual', FLAG,
            'Whether the input of every layer is added to its output', True),
        Key('peers.eb_gnn.jk', one_of('last', 'sum'),
            'Which states of the edges are read out: those of the last layer, or the sum of all, '
            'the encoded input among them', 'last'),
    ),
}
# fmt: on
