"""The keys of the systems that NC-GNN is compared with, and how their structures are prepared."""

from graphgym_nc.graphgym.key import Key
from graphgym_nc.graphgym.rules import above, one_of

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
}
# fmt: on
