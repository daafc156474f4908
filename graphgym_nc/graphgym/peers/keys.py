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
    'KP-GNN: the networks `kp_gin`, and the layer `kp_ginconv`': (
        Key('peers.kp_gin.variant', one_of('plain', 'plus', 'prime'),
            'KP-GIN; KP-GIN+, where hop k sees the state before the last k layers; or KP-GIN\', '
            'where layers after the first see one hop. For the network', 'plain'),
        Key('peers.kp_gin.hops', integer(1, 1000), 'Number of hops', 3),
        Key('peers.kp_gin.kernel', one_of('spd', 'gd'),
            'What is a neighbour at hop k: a node at distance k (`spd`), or any that a walk of k '
            'steps leads to (`gd`)', 'spd'),
        Key('peers.kp_gin.combine', one_of('geometric', 'attention'), 'How hops are combined',
            'geometric'),
        Key('peers.kp_gin.max_walks', integer(1, 10**6),
            'Path encoding: largest number of walks to a neighbour that is told apart; 1 for '
            'no path encoding', 1),
        Key('peers.kp_gin.closed_walks', FLAG,
            'Whether to tell how many walks lead back to a node. The authors\' code has an '
            'embedding for that, but what it is given is always zero', False),
        Key('peers.kp_gin.edge_types', integer(1, 10**6),
            'Number of types of edges, told by `edge_attr`; 1 for not to look', 1),
        Key('peers.kp_gin.peripheral', FLAG,
            'Whether to tell what lies among the neighbours at a hop (KP-GNN), or not (K-hop GNN)',
            True),
        Key('peers.kp_gin.max_types', integer(1, 1000),
            'Number of types of edges among neighbours that are told: those with most edges', 1),
        Key('peers.kp_gin.max_edges', integer(1, 10**6),
            'Largest number of such edges that is told', 50),
        Key('peers.kp_gin.levels', integer(1, 1000),
            'Largest distance among neighbours that is told', 5),
        Key('peers.kp_gin.max_pairs', integer(1, 10**6),
            'Largest number of pairs at such a distance that is told', 100),
        Key('peers.kp_gin.jk', one_of('last', 'concat'),
            'Which layers are read out: the last, or input and all layers. For the network',
            'last'),
        Key('peers.kp_gin.residual', FLAG,
            'Whether the input of every layer is added to its output. For the network', False),
    ),
}
# fmt: on
