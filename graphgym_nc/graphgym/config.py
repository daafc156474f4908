"""The plugin's configuration keys."""

from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg as global_cfg
from yacs.config import CfgNode

from graphgym_nc.graphgym.register import register_once


@register_once(register.config_dict, 'nc')
def set_cfg_nc(cfg: CfgNode) -> None:
    """Adds the plugin's keys, with their defaults, to GraphGym's."""
    cfg.nc = CfgNode()

    # ----------------------------------------------------------------------- #
    # Layers: ncgnnconv, ncgnneconv, and their baselines nc_ginconv, nc_gineconv
    # ----------------------------------------------------------------------- #

    # Number of Linear layers in MLP1, and in MLP2
    cfg.nc.mlp_layers = 2

    # Width inside of MLP1 and MLP2, as a multiple of the layer's output (OGB: 2)
    cfg.nc.mlp_expansion = 1

    # BatchNorm after the Linear layers of MLP1 and MLP2 (the paper: True).
    # Leave it off where all nodes have the same features: the messages of the
    # first layer are then equal, and cannot be normalised
    cfg.nc.mlp_batchnorm = False

    # BatchNorm (if any) and activation also after the last Linear layer of
    # MLP1 and MLP2 (the paper: True)
    cfg.nc.mlp_final_act = False

    # Initial scale of MLP2: the weight of its last BatchNorm or, without, of its
    # last Linear layer. Below 1, the sum over the edges among neighbours, with
    # its many terms, does not drown all else at first (the paper: 1.0)
    cfg.nc.communicate_scale = 1.0

    # What is made of MLP2 over the edges among a node's neighbours: their sum ('add',
    # the paper's) or 'mean', where a few nodes have thousands of them (COLLAB)
    cfg.nc.communicate_aggr = 'add'

    # Initial weights of all Linear layers: GraphGym's ('xavier', with the gain of
    # ReLU) or PyTorch's own ('torch'), which are smaller
    cfg.nc.init = 'xavier'

    # Initial value of epsilon
    cfg.nc.eps = 0.0

    # Whether epsilon is learned
    cfg.nc.train_eps = True

    # What computes on the CPU: 'torch', 'numba' (compiled kernels, wherever there
    # is one), or 'auto', which is the same if numba can be used
    cfg.nc.kernel = 'auto'

    # No effect. Configurations and checkpoints of before may name it
    cfg.nc.triangle_store_mb = 64

    # ----------------------------------------------------------------------- #
    # Data: PATTERN and CLUSTER
    # ----------------------------------------------------------------------- #

    # 'official': the published graphs, from disk or the network
    # 'generated': graphs drawn by the published recipe
    # 'auto': the official ones if they are on disk or can be had, else drawn
    cfg.nc.sbm_source = 'auto'

    # Number of training, validation and test graphs to draw; [] is the
    # published number. Only for generated graphs
    cfg.nc.sbm_graphs = []

    # Seed of the generated graphs (apart from cfg.seed: all runs see the same)
    cfg.nc.sbm_seed = 0

    # Seconds to wait for a data server that does not answer
    cfg.nc.download_timeout = 5.0

    # ----------------------------------------------------------------------- #
    # Data: counting triangles
    # ----------------------------------------------------------------------- #

    # Number of random graphs, and their seed
    cfg.nc.counting_graphs = 5000
    cfg.nc.counting_seed = 0


@register_once(register.config_dict, 'nc_run')
def set_cfg_run(cfg: CfgNode) -> None:
    """Adds the keys of training that GraphGym lacks, to its own groups."""
    # One training on several devices: 'devices' of them (GraphGym's key, as is
    # 'accelerator') on each of 'num_nodes' machines. 'train.batch_size' remains
    # that of a step: every device has its share of the batch
    cfg.num_nodes = 1

    # How the devices work together, as Lightning names it: 'auto', 'ddp',
    # or 'ddp_find_unused_parameters_true'
    cfg.strategy = 'auto'

    # Statistics of BatchNorm over the whole batch, or over each device's share
    cfg.sync_batchnorm = False

    # Largest norm of the gradient; 0 for no clipping
    cfg.optim.clip_grad_norm = 0.0

    # Number of batches whose gradients are added up for one step
    cfg.optim.batch_accumulation = 1

    # Epochs of linear warm-up, for 'cosine_with_warmup'
    cfg.optim.num_warmup_epochs = 5

    # Evaluations without a better validation loss, after which
    # 'reduce_on_plateau' multiplies the learning rate by lr_decay
    cfg.optim.schedule_patience = 10

    # Registered function that trains; one's own takes (model, datamodule)
    cfg.train.mode = 'standard'

    # Number of parts of a graph, for the samplers 'random_node' and 'cluster'
    cfg.train.train_parts = 10

    # Stop after so many epochs without a better validation; 0 for never
    cfg.train.early_stopping = 0

    # Precision, as Lightning names it: '32-true', '16-mixed', 'bf16-mixed', ...
    cfg.train.precision = '32-true'

    # Only deterministic algorithms; an operation without one is an error
    cfg.train.deterministic = False

    # Weights & Biases: off, or on with mode 'online' or 'offline'
    cfg.wandb = CfgNode()
    cfg.wandb.use = False
    cfg.wandb.project = 'graphgym-nc'
    cfg.wandb.mode = 'online'


# GraphGym has built its configuration before any plugin could register
# (`set_cfg` at the end of torch_geometric/graphgym/config.py).
if 'nc' not in global_cfg:
    set_cfg_nc(global_cfg)
    set_cfg_run(global_cfg)
