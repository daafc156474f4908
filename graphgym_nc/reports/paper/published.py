"""Figures of the paper that ours stand beside.

All are from `"Empowering GNNs via Edge-Aware Weisfeiler-Leman Algorithm"
<https://arxiv.org/abs/2206.02059>`_ (Liu, Yu, Ji; TMLR 2024); each group names
its table. Data sets have the names that :obj:`dataset.name` has.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Statistics:
    """What the paper says of a data set.

    Attributes:
        graphs: The number of graphs.
        nodes: The number of nodes of a graph, on average.
        edges: The number of edges of a graph, on average.
        messages: The number of edges among the neighbours of a node, on average
            over all nodes of all graphs (Avg. #Message_NC).
        undirected: Whether an undirected edge counts once, where both of its
            directions do in most rows.
        note: What to know about it.
    """

    graphs: int | None
    nodes: float | None
    edges: float | None
    messages: float
    undirected: bool = False
    note: str = ''


_SIX_TIMES = 'the paper prints some six times what its own definition gives'

#: Dataset Statistics; the last three are from Results on MUTAG, PTC, and NCI1.
STATISTICS = {
    'COLLAB': Statistics(5000, 74.5, 4915.6, 5016.2),
    'PROTEINS': Statistics(1113, 39.1, 145.6, 2.1),
    'IMDB-BINARY': Statistics(1000, 19.7, 96.5, 59.5, undirected=True),
    'IMDB-MULTI': Statistics(1500, 13, 131.8, 70.6),
    'ogbg-ppa': Statistics(158_100, 243.4, 2266.1, 179.3, undirected=True),
    'PATTERN': Statistics(14_000, 118.9, 6079.8, 3440.1, note=_SIX_TIMES),
    'CLUSTER': Statistics(12_000, 117.2, 4303.8, 1301.5, note=_SIX_TIMES),
    'MUTAG': Statistics(None, None, None, 0.0),
    'PTC_MR': Statistics(None, None, None, 0.005),
    'NCI1': Statistics(None, None, None, 0.005),
}


@dataclass(frozen=True)
class Result:
    """A result of the paper.

    Attributes:
        mean: The mean, of accuracies in per cent.
        std: The deviation, if there is one.
        params: The number of parameters, if it is told.
    """

    mean: float
    std: float | None = None
    params: int | None = None


@dataclass(frozen=True)
class Experiment:
    """What the paper has run on a data set with a network of a certain size.

    Attributes:
        table: The table, by the name of its grid.
        dataset: The data set.
        config: The names of its configurations, without the model in front. What follows in
            a longer name is a variant.
        layers: The number of message-passing layers, if networks of several
            sizes were run.
        budget: Their number of parameters, in thousands.
        epochs: The number of epochs.
        told: Whether the paper tells it, and how it has trained; else it is as in our
            configurations.
        runs: The number of folds or seeds.
        graphs: The number of graphs.
        results: The results, by model.
        rate: The initial learning rate.
        scheduler: How it decays.
        batch_size: The number of graphs in a batch.
        label: What to call it, if not by the data set.
        target: What is counted.
    """

    table: str
    dataset: str
    config: str
    epochs: int
    runs: int
    graphs: int
    results: dict[str, Result]
    layers: int | None = None
    budget: int | None = None
    told: bool = True
    rate: float = 0.001
    scheduler: str = 'step'
    batch_size: int = 32
    label: str = ''
    target: str = 'triangle'

    @property
    def name(self) -> str:
        if self.layers is None:
            return self.label or self.dataset
        return f'{self.dataset}, {self.layers} layers, {self.budget}K'


CYCLES = 'GIN + 3-cycle count'

_COUNTING = {
    'GIN': Result(0.3569), 'GIN-AK': Result(0.0934), 'GIN-AK+': Result(0.0123),
    'NC-GNN': Result(0.0081, 0.0012),
}  # fmt: skip

#: Results on TUDatasets; on MUTAG, PTC, and NCI1; on ogbg-ppa; on GNN Benchmark; on counting
#: triangles. The epochs are those of the hyperparameters' table, which has none for MUTAG, PTC,
#: NCI1 (350 is GIN's own number) and counting. Its table of counting is of triangles alone.
#: GIN-AK has its authors' name; the paper prints GNN-AK for it on TUDatasets. What the paper
#: calls K-subgraph SAT is SAT here: the printed numbers of parameters are those of k-subtree
#: SAT. RingGNN has 2 layers on PATTERN and CLUSTER, PPGN 3, and GIN-AK+ and SAT are of about
#: 600K parameters.
EXPERIMENTS = (
    Experiment('tu', 'COLLAB', 'collab', 100, 10, 5000, {
        'GIN': Result(80.2, 1.9), 'PPGN': Result(81.4, 1.4), 'NC-GNN': Result(82.5, 1.2)},
        rate=0.005, batch_size=256),
    Experiment('tu', 'PROTEINS', 'proteins', 100, 10, 1113, {
        'GIN': Result(76.2, 2.8), 'GraphSNN': Result(76.8, 2.5), 'GIN-AK': Result(77.1, 5.7),
        'SIN': Result(76.5, 3.4), 'CIN': Result(77.0, 4.3), 'PPGN': Result(77.2, 4.7),
        'NC-GNN': Result(76.5, 4.4)}),
    Experiment('tu', 'IMDB-BINARY', 'imdb_b', 200, 10, 1000, {
        'GIN': Result(75.1, 5.1), 'GraphSNN': Result(77.9, 3.6), 'GIN-AK': Result(75.0, 4.2),
        'SIN': Result(75.6, 3.2), 'CIN': Result(75.6, 3.7), 'PPGN': Result(73.0, 5.8),
        'NC-GNN': Result(75.2, 4.5)}),
    Experiment('tu', 'IMDB-MULTI', 'imdb_m', 300, 10, 1500, {
        'GIN': Result(52.3, 2.8), 'SIN': Result(52.5, 3.0), 'CIN': Result(52.7, 3.1),
        'PPGN': Result(50.5, 3.6), 'NC-GNN': Result(52.5, 3.2)}, rate=0.005,
        batch_size=128),
    Experiment('sparse', 'MUTAG', 'mutag', 350, 10, 188, {
        'GIN': Result(89.4, 5.6), 'NC-GNN': Result(90.6, 5.6)}, told=False, rate=0.01),
    Experiment('sparse', 'PTC_MR', 'ptc', 350, 10, 344, {
        'GIN': Result(64.6, 7.0), 'NC-GNN': Result(64.4, 5.6)}, told=False, rate=0.01),
    Experiment('sparse', 'NCI1', 'nci1', 350, 10, 4110, {
        'GIN': Result(82.7, 1.7), 'NC-GNN': Result(82.5, 1.9)}, told=False, rate=0.01,
        batch_size=128),
    Experiment('ppa', 'ogbg-ppa', 'ppa', 80, 10, 158_100, {
        'GIN': Result(68.92, 1.00, 1_836_942), CYCLES: Result(70.58, 0.64),
        'GraphSNN': Result(70.66, 1.65), 'NC-GNN': Result(71.94, 0.43, 1_754_445)}, rate=0.01),
    Experiment('sbm', 'PATTERN', 'pattern_4l_100k', 100, 4, 14_000, {
        'GIN': Result(85.590, 0.011, 100_884),
        'RingGNN': Result(86.245, 0.013, 105_206),
        'PPGN': Result(85.661, 0.353, 103_572),
        'NC-GNN': Result(86.627, 0.017, 106_756)}, 4, 100),
    Experiment('sbm', 'PATTERN', 'pattern_4l_500k', 140, 4, 14_000, {
        'RingGNN': Result(86.244, 0.025, 504_766),
        'PPGN': Result(85.341, 0.207, 502_872),
        'GIN-AK+': Result(86.836, None, 601_134), 'SAT': Result(86.845, None, 633_586),
        'NC-GNN': Result(86.732, 0.007, 506_512)}, 4, 500),
    Experiment('sbm', 'PATTERN', 'pattern', 140, 4, 14_000, {
        'GIN': Result(85.387, 0.136, 508_574), 'NC-GNN': Result(86.607, 0.119, 506_512)}, 16, 500),
    Experiment('sbm', 'CLUSTER', 'cluster_4l_100k', 100, 4, 12_000, {
        'GIN': Result(58.384, 0.236, 103_544),
        'RingGNN': Result(42.418, 20.063, 104_746),
        'PPGN': Result(57.130, 6.539, 105_552),
        'NC-GNN': Result(69.335, 0.357, 107_320)}, 4, 100),
    Experiment('sbm', 'CLUSTER', 'cluster_4l_500k', 100, 4, 12_000, {
        'RingGNN': Result(22.340, 0.000, 524_202),
        'PPGN': Result(55.489, 7.863, 507_252),
        'NC-GNN': Result(69.838, 0.135, 508_428)}, 4, 500),
    Experiment('sbm', 'CLUSTER', 'cluster', 200, 4, 12_000, {
        'GIN': Result(64.716, 1.553, 517_570),
        'GIN-AK+': Result(76.502, None, 602_586), 'SAT': Result(77.416, None, 555_718),
        'NC-GNN': Result(76.718, 0.071, 508_428)}, 16, 500),
    Experiment('counting', 'TriangleCounting', 'counting', 40, 2, 5000, _COUNTING, told=False,
        rate=0.005, scheduler='cos', label='graphs drawn here'),
    Experiment('counting', 'TriangleCounting', 'counting_regular', 40, 2, 5000, _COUNTING,
        told=False, rate=0.005, scheduler='cos', label='regular graphs of Chen et al.'),
    *(Experiment('targets', 'TriangleCounting', 'counting_regular', 40, 2, 5000, {}, told=False,
        rate=0.005, scheduler='cos', label=target.replace('_', ' '), target=target)
      for target in ('tailed_triangle', 'star', 'cycle4', 'chordal_cycle', 'clique4')),
)  # fmt: skip

#: Comparison of real training time per epoch: NC-GNN's, as a multiple of GIN's, on a GPU.
RELATIVE_TIME = {
    'PROTEINS': 1.4, 'COLLAB': 1.3, 'IMDB-BINARY': 1.2, 'IMDB-MULTI': 1.2, 'PATTERN': 6.0,
    'CLUSTER': 4.6,
}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """What a model of the paper costs, on a GPU.

    Attributes:
        epoch: Seconds for an epoch of training.
        memory: Peak memory in MB.
        macs: Multiply-accumulate operations for a graph, in millions.
        inference: Seconds for inference.
    """

    epoch: float
    memory: float
    macs: float
    inference: float


#: A thorough comparison between NC-GNN and GIN-AK+: experiment and model.
COSTS = {
    ('PATTERN, 4 layers, 500K', 'GIN-AK+'): Cost(77.50, 31434, 176_450, 32.19),
    ('PATTERN, 4 layers, 500K', 'SAT'): Cost(40.73, 17705, 30, 5.91),
    ('PATTERN, 4 layers, 500K', 'NC-GNN'): Cost(42.52, 15625, 1_140, 12.03),
    ('CLUSTER, 16 layers, 500K', 'GIN-AK+'): Cost(148.98, 32142, 110_520, 27.16),
    ('CLUSTER, 16 layers, 500K', 'SAT'): Cost(74.09, 21691, 20, 4.75),
    ('CLUSTER, 16 layers, 500K', 'NC-GNN'): Cost(48.87, 22386, 840, 5.18),
}
