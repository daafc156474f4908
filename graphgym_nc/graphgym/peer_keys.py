"""The keys of the systems that NC-GNN is compared with, and how their structures are prepared."""

from graphgym_nc.graphgym.key import Key
from graphgym_nc.graphgym.rules import FLAG, above, below_one, integer, number, one_of
from graphgym_nc.nn.peers._pairs import INPUTS
from graphgym_nc.nn.peers.nested_gin import LABELS

_INPUTS = (
    'What a pair of nodes is given: the normalised adjacency in the first channel, and node '
    'features on the diagonal of the others (`diagonal`), the same with the adjacency added to '
    'all channels (`spread`), or the adjacency alone (`adjacency`)'
)

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
    'The network `ppgn`: `gnn.layers_mp` blocks of width `gnn.dim_inner`': (
        Key('peers.ppgn.mlp_layers', integer(1), 'Number of layers in the MLPs of a block', 2),
        Key('peers.ppgn.readout', one_of('max', 'sum'),
            'How the pairs of a graph are put together, the diagonal and all else apart', 'max'),
        Key('peers.ppgn.inputs', one_of(*INPUTS), _INPUTS, 'diagonal'),
    ),
    'The network `ring_gnn`: `gnn.layers_mp` layers of width `gnn.dim_inner`': (
        Key('peers.ring_gnn.num_nodes', above(0, 1e6),
            'About how many nodes a graph has. Half its inverse is the initial weight of the '
            'product of matrices', 10.0),
        Key('peers.ring_gnn.readout_width', integer(0),
            'Width of the hidden layer of the readout (its authors: 32); 0 for two such layers, '
            'of a half and a quarter of the width of their input (benchmarking-gnns)', 0),
        Key('peers.ring_gnn.inputs', one_of(*INPUTS), _INPUTS, 'diagonal'),
    ),
    'Nested GNNs: the network `nested_gin`, of layers of `gnn.layer_type`': (
        Key('peers.nested_gin.hops', integer(1, 1000), 'Hops of the rooted subgraphs', 3),
        Key('peers.nested_gin.labels', one_of(*LABELS),
            'What a node of a subgraph knows of its place in it: nothing, its distance from the '
            'root, or (`spd`, the authors\' default) also whether several ways lead there', 'spd'),
        Key('peers.nested_gin.label_dim', integer(1, 10000),
            'Width of the learned vectors of labels', 8),
    ),
    'GIN-AK and GIN-AK+: the layer `gin_akconv`, and the network `gin_ak`': (
        Key('peers.gin_ak.hops', integer(1, 1000), 'Hops of the rooted subgraphs', 3),
        Key('peers.gin_ak.walk_length', integer(0, 1000),
            'Steps of the random walks that subgraphs are made of, drawn anew each time; 0 for '
            'subgraphs of `peers.gin_ak.hops`', 0),
        Key('peers.gin_ak.walk_repeat', integer(1, 1000), 'Number of walks from every node', 5),
        Key('peers.gin_ak.hop_dim', integer(0, 10000),
            'Width of the learned vectors of distances from the root, which nodes and gates know; '
            '0 for none (GIN-AK)', 16),
        Key('peers.gin_ak.context', FLAG,
            'Whether a node is told what it is in the subgraphs of others (GIN-AK: False)', True),
        Key('peers.gin_ak.inner_layers', integer(1, 1000),
            'Number of layers on the subgraphs, within each layer', 1),
        Key('peers.gin_ak.mlp_layers', integer(1, 1000),
            'Number of Linear layers before pooling a subgraph, and after', 1),
        Key('peers.gin_ak.combine', one_of('concat', 'add'),
            'How the node, its subgraph and its context are put together', 'concat'),
        Key('peers.gin_ak.parallel', FLAG,
            'Whether each layer adds one on the graph itself; for random walks, which miss '
            'neighbours', False),
        Key('peers.gin_ak.edge_features', FLAG, 'Whether edge features are read', False),
        Key('peers.gin_ak.edge_types', integer(1, 10000),
            'Number of learned vectors of edges without features, of which only the first is used '
            '(the published numbers of parameters have 2)', 1),
        Key('peers.gin_ak.redundancy', integer(0, 1000000),
            'SubgraphDrop: only so many subgraphs with every node in them are trained with, drawn '
            'anew each time; 0 for all', 0),
        Key('peers.gin_ak.idle_norms', FLAG,
            'Whether to make the BatchNorm layers, too, that the authors make and never apply: '
            'the published numbers of parameters have them', False),
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
    'KP-GNN: the networks `kp_gin`, and the layer `kp_ginconv`': (
        Key('peers.kp_gin.variant', one_of('plain', 'plus', 'prime'),
            'KP-GIN; KP-GIN+, where hop k sees the state before the last k layers; or KP-GIN\', '
            'where layers after the first see one hop. For the network', 'plain'),
        Key('peers.kp_gin.hops', integer(1, 1000),
            'Number of hops. `gnn.dim_inner` must be a multiple of it, but for KP-GIN+', 3),
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
