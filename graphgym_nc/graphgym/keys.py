"""All configuration keys, GraphGym's and the plugin's: what they mean, and what they may be."""

from collections.abc import Iterator
from typing import Any

import torch_geometric.transforms as T
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import set_cfg
from yacs.config import CfgNode

from graphgym_nc import kernels
from graphgym_nc.datasets.counting_files import FILES
from graphgym_nc.datasets.subgraph_counts import TARGETS
from graphgym_nc.graphgym.key import Key
from graphgym_nc.graphgym.peer_keys import GROUPS as PEERS
from graphgym_nc.graphgym.rules import (
    ANY,
    FINITE,
    FLAG,
    SHARES,
    SPLIT_MODE,
    TEXT,
    above,
    below_one,
    each,
    integer,
    number,
    one_of,
    registered,
)
from graphgym_nc.nn._aggregation import LEARNED, POWERS
from graphgym_nc.transforms import AddTriangleCount, AddTriangles

#: The transforms that 'dataset.transform' may name.
TRANSFORMS = {name: getattr(T, name) for name in T.__all__} | {
    'AddTriangleCount': AddTriangleCount,
    'AddTriangles': AddTriangles,
}


_SAMPLER = one_of(
    'cluster', 'full_batch', 'neighbor', 'random_node', 'saint_edge', 'saint_node', 'saint_rw',
)  # fmt: skip

# fmt: off
GROUPS: dict[str, tuple[Key, ...]] = {
    'The layers `ncgnnconv`, `ncgnneconv`, and their baselines `nc_ginconv`, `nc_gineconv`': (
        Key('nc.mlp_layers', integer(1), 'Number of Linear layers in MLP1, and in MLP2', 2),
        Key('nc.mlp2_layers', integer(0),
            'Number of Linear layers in MLP2; 0 for as many as `nc.mlp_layers` says (the paper). '
            '1 is the lean layer: MLP1 begins with a Linear layer, so MLP2 needs none at its '
            'end', 0),
        Key('nc.mlp_expansion', integer(1),
            'Width inside MLP1 and MLP2, as a multiple of the output (OGB: 2)', 1),
        Key('nc.mlp_batchnorm', FLAG,
            'BatchNorm after the Linear layers of MLP1 and MLP2 (the paper: True). Leave it off '
            'where all nodes have the same features: all messages of the first layer are then '
            'equal, and BatchNorm would make them zero', False),
        Key('nc.mlp_final_act', FLAG,
            'BatchNorm (if any) and activation also after the last Linear layer of MLP1 and MLP2 '
            '(the paper: True)', False),
        Key('nc.mlp2_plain_last', FLAG,
            'Whether MLP2 ends with its last Linear layer, whatever `nc.mlp_final_act` says',
            False),
        Key('nc.mlp_act_first', FLAG,
            'Activation before BatchNorm, not after it, in MLP1 and MLP2', False),
        Key('nc.communicate_scale', above(0),
            'Initial scale of MLP2. Below 1, the sum over the edges among neighbours starts '
            'small: it has many terms, and would drown all else (the paper: 1.0)', 1.0),
        Key('nc.communicate_aggr', one_of(*POWERS, 'power', LEARNED),
            'How the edges among a node\'s neighbours are put together: their sum (the paper), or '
            'that divided by the square root of their number, by their number, or by a power of '
            'it: `nc.communicate_power`, or one that is learned for each channel. This is for '
            'data where a few nodes have thousands of such edges (COLLAB)', 'add'),
        Key('nc.communicate_power', number(0, 1),
            'The power of `nc.communicate_aggr: power`', 0.5),
        Key('nc.communicate_log', FLAG,
            'Whether the logarithm of the number of edges among a node\'s neighbours is added to '
            'what they say, with a learned weight for each channel', False),
        Key('nc.init', one_of('xavier', 'torch'),
            'Initial weights of all Linear layers: GraphGym\'s, or PyTorch\'s smaller ones',
            'xavier'),
        Key('nc.eps', FINITE, 'Initial value of epsilon', 0.0),
        Key('nc.train_eps', FLAG, 'Whether epsilon is learned', True),
        Key('nc.kernel', one_of(*kernels.CHOICES),
            'What computes: PyTorch, or compiled kernels where there are some. `auto` takes those '
            'of numba on the CPU, if it can be used; `triton` those for a GPU', 'auto'),
    ),
    **PEERS,
    'PATTERN and CLUSTER': (
        Key('nc.sbm_source', one_of('auto', 'official', 'generated'),
            'Which graphs: the published ones, or graphs drawn by the published recipe. `auto` '
            'takes the published ones if they are on disk or can be fetched', 'auto'),
        Key('nc.sbm_graphs',
            each('[] or three positive integers: [train, val, test]', integer(1), int, 0, 3),
            'Number of graphs to draw; [] is the published number', []),
        Key('nc.sbm_seed', integer(0),
            'Seed of the drawn graphs. `seed` does not change them: all runs see the same', 0),
        Key('nc.download_timeout', above(0, 86400),
            'Seconds to wait for a data server that does not answer', 5.0),
    ),
    'Counting triangles': (
        Key('nc.counting_source', one_of('auto', *FILES, 'generated'),
            'Which graphs: those of a file, or graphs that are drawn. `auto` takes `regular` if '
            'its file is there, and `nc.counting_graphs` is 5000', 'auto'),
        Key('nc.counting_target', one_of(*TARGETS), 'What is counted', 'triangle'),
        Key('nc.counting_graphs', integer(10), 'Number of random graphs to draw', 5000),
        Key('nc.counting_seed', integer(0), 'Seed of the random graphs', 0),
    ),
    'Data': (
        Key('dataset.name', TEXT, 'Name of the data set'),
        Key('dataset.format', TEXT,
            'Where it comes from: `PyG`, `PyG-<class>`, `OGB`, `NC`, or what a loader of your own '
            'answers to'),
        Key('dataset.dir', TEXT, 'Folder of all data sets'),
        Key('dataset.task', one_of('node', 'edge', 'graph', 'link_pred'), 'What is predicted'),
        Key('dataset.task_type',
            one_of('classification', 'regression', 'classification_binary',
                   'classification_multi'), 'Type of the task'),
        Key('dataset.transductive', FLAG,
            'Whether the splits share their graphs; never for graph tasks'),
        Key('dataset.split', SHARES, 'Shares of the splits, where the data set has none'),
        Key('dataset.shuffle_split', FLAG, 'Whether the split is drawn at random'),
        Key('dataset.split_mode', SPLIT_MODE,
            'The data set\'s own split if it has one, only its own (`custom`), or '
            'cross-validation with `seed` as the fold: drawn as GIN\'s code does, or by GIN\'s '
            'files. The fold is validation; with `-inner` it is the test, and validation is a '
            'tenth of the rest'),
        Key('dataset.transform', registered('a PyG transform', TRANSFORMS, 'none'),
            'Transform of every graph'),
        Key('dataset.to_undirected', FLAG, 'Whether every edge is given its reverse'),
        Key('dataset.remove_feature', FLAG, 'Whether node features are replaced by a constant'),
        Key('dataset.node_encoder', FLAG, 'Whether node features are encoded'),
        Key('dataset.node_encoder_name', registered('a node encoder', register.node_encoder_dict),
            'How node features are encoded'),
        Key('dataset.node_encoder_bn', FLAG, 'BatchNorm after the node encoder'),
        Key('dataset.edge_encoder', FLAG, 'Whether edge features are encoded'),
        Key('dataset.edge_encoder_name', registered('an edge encoder', register.edge_encoder_dict),
            'How edge features are encoded'),
        Key('dataset.edge_encoder_bn', FLAG, 'BatchNorm after the edge encoder'),
        Key('dataset.edge_dim', integer(0), 'Width of the edge features; set by the data set'),
        Key('dataset.resample_negative', FLAG, 'Whether every epoch draws new negative links'),
        Key('share.dim_in', integer(0), 'Width of the node features; set by the data set'),
        Key('share.dim_out', integer(0), 'Width of the prediction; set by the data set'),
        Key('share.num_splits', integer(1), 'Number of splits; set by the data set'),
    ),
    'Model': (
        Key('model.type', registered('a network', register.network_dict), 'The network'),
        Key('model.loss_fun',
            registered('a loss', register.loss_dict, 'cross_entropy', 'mse'), 'The loss'),
        Key('model.size_average', one_of('mean', 'sum'), 'Mean or sum of the loss over a batch'),
        Key('model.thresh', number(0, 1), 'Score from which a binary prediction is positive'),
        Key('model.edge_decoding', one_of('dot', 'cosine_similarity', 'concat'),
            'How two nodes give the score of an edge'),
        Key('model.graph_pooling', registered('a pooling', register.pooling_dict),
            'How nodes give the vector of a graph'),
        Key('model.match_upper', FLAG, 'Side from which GraphGym matches a parameter budget'),
        Key('gnn.layer_type', registered('a layer', register.layer_dict), 'The layer'),
        Key('gnn.stage_type', registered('a stage', register.stage_dict), 'How layers are joined'),
        Key('gnn.head', registered('a head', register.head_dict, 'default'),
            'Prediction head; by default that of `dataset.task`'),
        Key('gnn.act', registered('an activation', register.act_dict), 'Activation'),
        Key('gnn.layers_pre_mp', integer(0), 'Number of Linear layers before message passing'),
        Key('gnn.layers_mp', integer(0), 'Number of layers of message passing'),
        Key('gnn.layers_post_mp', integer(0), 'Number of Linear layers after it; 0 is 1, too'),
        Key('gnn.dim_inner', integer(1), 'Width of the hidden layers'),
        Key('gnn.dropout', below_one(), 'Dropout'),
        Key('gnn.batchnorm', FLAG, 'BatchNorm after each layer'),
        Key('gnn.l2norm', FLAG, 'L2-normalisation after each layer'),
        Key('gnn.agg', one_of('add', 'max', 'mean', 'min', 'mul', 'sum'),
            'Aggregation; only for some layers, such as generalconv'),
        Key('gnn.normalize_adj', FLAG, 'Normalised adjacency; generalconv only'),
        Key('gnn.msg_direction', one_of('single', 'both'),
            'Whether a message sees one end of its edge or both; generaledgeconv only'),
        Key('gnn.self_msg', one_of('none', 'add', 'concat'),
            'What a node keeps of itself; generalconv and generaledgeconv only'),
        Key('gnn.keep_edge', number(0, 1), 'Share of edges that are kept; for layers of your own'),
        Key('bn.eps', above(0), 'Epsilon of BatchNorm'),
        Key('bn.mom', number(0, 1), 'Momentum of BatchNorm'),
        Key('mem.inplace', FLAG, 'Activations in place'),
    ),
    'Training': (
        Key('train.mode', registered('a training function', register.train_dict, 'standard'),
            'What trains. One of your own takes (model, datamodule)', 'standard'),
        Key('train.batch_size', integer(1), 'Number of graphs in a batch'),
        Key('train.sampler', _SAMPLER, 'How a single graph is cut for training'),
        Key('val.sampler', _SAMPLER, 'How a single graph is cut for evaluation'),
        Key('train.train_parts', integer(1),
            'Number of parts of a graph, for the samplers `random_node` and `cluster`', 10),
        Key('train.iter_per_epoch', integer(1), 'Batches per epoch of the saint samplers'),
        Key('train.walk_length', integer(1), 'Length of the walks of `saint_rw`'),
        Key('train.neighbor_sizes',
            each('a list of integers from -1 (all)', integer(-1), int),
            'Number of neighbours that `neighbor` samples in each layer'),
        Key('train.eval_period', integer(1), 'Epochs between two evaluations'),
        Key('train.early_stopping', integer(0),
            'Stop after so many epochs without a better validation; 0 for never', 0),
        Key('train.enable_ckpt', FLAG, 'Whether checkpoints are written'),
        Key('train.ckpt_period', integer(1), 'Epochs between two checkpoints'),
        Key('train.ckpt_clean', FLAG, 'Whether only the last and the best checkpoint are kept'),
        Key('train.auto_resume', FLAG, 'Whether an interrupted run goes on'),
        Key('train.precision',
            one_of('16-mixed', '16-true', 'bf16-mixed', 'bf16-true', '32-true', '64-true'),
            'Precision, as Lightning names it', '32-true'),
        Key('train.deterministic', FLAG,
            'Only deterministic algorithms; an operation without one is an error', False),
        Key('optim.optimizer', registered('an optimizer', register.optimizer_dict), 'Optimizer'),
        Key('optim.base_lr', number(0), 'Learning rate'),
        Key('optim.weight_decay', number(0), 'Weight decay'),
        Key('optim.momentum', number(0, 1), 'Momentum of SGD'),
        Key('optim.max_epoch', integer(1), 'Number of epochs'),
        Key('optim.scheduler', registered('a scheduler', register.scheduler_dict),
            'How the learning rate changes'),
        Key('optim.steps', each('a list of integers from 0', integer(0), int),
            'Epochs at which `step` changes the learning rate'),
        Key('optim.lr_decay', above(0, 1),
            'Factor of `step` and `reduce_on_plateau` for the learning rate'),
        Key('optim.num_warmup_epochs', integer(0),
            'Epochs of linear warm-up of `cosine_with_warmup`', 5),
        Key('optim.num_warmup_steps', integer(1),
            'Steps of linear warm-up of `inverse_sqrt`', 5000),
        Key('optim.schedule_patience', integer(0),
            'Evaluations without a better validation loss before `reduce_on_plateau` lowers the '
            'learning rate', 10),
        Key('optim.clip_grad_norm', number(0), 'Largest norm of the gradient; 0 for any', 0.0),
        Key('optim.batch_accumulation', integer(1),
            'Number of batches whose gradients are added up for one step', 1),
    ),
    'The run': (
        Key('seed', integer(0), 'Random seed; in cross-validation the fold'),
        Key('out_dir', TEXT, 'Folder of all results'),
        Key('cfg_dest', TEXT, 'Name of the configuration among the results'),
        Key('print', one_of('stdout', 'file', 'both'), 'Where the log goes'),
        Key('metric_best', TEXT, 'Metric that chooses the reported epoch; `auto` by the task'),
        Key('metric_agg', one_of('argmax', 'argmin'),
            'Whether more of `metric_best` is better, or less. Errors are always made small'),
        Key('custom_metrics',
            each('names of metrics', registered('a metric', register.metric_dict), str),
            'Metrics in place of GraphGym\'s own'),
        Key('round', integer(0, 15), 'Decimal places of the metrics'),
        Key('accelerator', one_of('auto', 'cpu', 'cuda', 'gpu', 'mps', 'tpu'), 'Kind of device'),
        Key('devices', integer(1), 'Number of devices on each machine, for one training'),
        Key('num_nodes', integer(1),
            'Number of machines. `train.batch_size` remains that of a step: every device has its '
            'share of the batch', 1),
        Key('strategy',
            one_of('auto', 'ddp', 'ddp_find_unused_parameters_false',
                   'ddp_find_unused_parameters_true'),
            'How several devices work together, as Lightning names it', 'auto'),
        Key('sync_batchnorm', FLAG,
            'Statistics of BatchNorm over the whole batch, not over each device\'s share', False),
        Key('num_workers', integer(0), 'Processes that load data'),
        Key('num_threads', integer(1), 'Largest number of threads of PyTorch'),
        Key('tensorboard_each_run', FLAG, 'Whether each run writes event files for TensorBoard'),
        Key('tensorboard_agg', FLAG, 'The same for GraphGym\'s own aggregation'),
        Key('wandb.use', FLAG, 'Whether a run is logged to Weights & Biases', False),
        Key('wandb.project', TEXT, 'Its project', 'graphgym-nc'),
        Key('wandb.mode', one_of('online', 'offline', 'disabled'), 'Its mode', 'online'),
    ),
    'Without effect: nothing reads these keys': (
        Key('nc.triangle_store_mb', ANY, 'For configurations of older versions', 64),
        *(Key(name, ANY, '') for name in (
            'benchmark', 'dataset.cache_load', 'dataset.cache_save', 'dataset.edge_message_ratio',
            'dataset.edge_negative_sampling_ratio', 'dataset.edge_train_mode', 'dataset.encoder',
            'dataset.encoder_bn', 'dataset.encoder_dim', 'dataset.encoder_name',
            'dataset.label_column', 'dataset.label_table', 'dataset.location',
            'dataset.resample_disjoint', 'dataset.tu_simple', 'gnn.att_final_linear',
            'gnn.att_final_linear_bn', 'gnn.att_heads', 'gnn.clear_feature', 'gnn.skip_every',
            'gpu_mem', 'train.epoch_resume', 'train.node_per_graph', 'train.radius',
            'train.sample_node', 'train.skip_train_eval', 'val.node_per_graph', 'val.radius',
            'val.sample_node', 'view_emb',
        )),
    ),
}
# fmt: on

#: All keys, by full name.
KEYS = {key.name: key for group in GROUPS.values() for key in group}

#: Keys that neither GraphGym nor this package reads.
IGNORED = [key.name for key in KEYS.values() if key.rule is ANY]


def defaults() -> dict[str, Any]:
    """What every key is unless it is set, by full name."""
    config = CfgNode()
    set_cfg(config)
    return dict(leaves(config))


def leaves(node: CfgNode, prefix: str = '') -> Iterator[tuple[str, Any]]:
    """All keys of a configuration by full name, with their values."""
    for name, value in node.items():
        if isinstance(value, CfgNode):
            yield from leaves(value, f'{prefix}{name}.')
        else:
            yield prefix + name, value


def reference() -> str:
    """The reference page of all keys, in Markdown."""
    usual = defaults()
    lines = ['# Configuration keys', '', 'All keys, what they may be, and what they mean.']
    for title, group in GROUPS.items():
        lines += ['', f'## {title}', '', '| key | default | allowed | meaning |', '|-|-|-|-|']
        for key in group:
            if key.name in usual:  # not every version of GraphGym has all of its keys
                cells = (f'`{key.name}`', f'`{usual[key.name]!r}`', key.rule.words, key.text)
                lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines) + '\n'
