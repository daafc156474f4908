"""The keys of the systems that NC-GNN is compared with, and how their structures are prepared."""

from graphgym_nc.graphgym.key import Key
from graphgym_nc.graphgym.rules import above, integer, one_of
from graphgym_nc.nn.peers._pairs import INPUTS

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
}
# fmt: on
