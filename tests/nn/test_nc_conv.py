import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Dropout, LayerNorm, Linear, Module, ReLU, Sequential, Tanh
from torch_geometric.data import Batch, Data
from torch_geometric.nn import MLP, GINConv, GINEConv
from torch_geometric.nn import BatchNorm as PygBatchNorm
from torch_geometric.nn import Linear as PygLinear
from torch_geometric.utils import to_torch_coo_tensor, to_undirected

from graphgym_nc import TriangleIncidence, find_triangles, kernels
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from graphgym_nc.nn._communicate import communicate
from tests.reference import dense_graph, graphs, naive_conv

D = 4


class Opaque(Module):
    """A module that nothing is known of, with BatchNorm deep inside."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.ModuleDict({'a': Sequential(Linear(D, 6), BatchNorm1d(6))})
        self.out = Linear(6, D)

    def forward(self, x):
        return self.out(self.inner['a'](x).tanh()) + x


class Doubled(BatchNorm1d):
    def forward(self, x):
        return 2 * super().forward(x)


class Hooked(Linear):
    def __init__(self):
        super().__init__(D, D)
        self.register_forward_hook(lambda module, args, out: 2 * out)


def paper_mlp(dim_in=D, dim_out=D):
    return Sequential(
        Linear(dim_in, dim_out),
        BatchNorm1d(dim_out),
        ReLU(),
        Linear(dim_out, dim_out),
        BatchNorm1d(dim_out),
        ReLU(),
    )


NETWORKS = {
    'paper': paper_mlp,
    'plain': lambda: Sequential(Linear(D, 6), ReLU(), Linear(6, D)),
    'no bias': lambda: Sequential(Linear(D, D, bias=False), Tanh(), Linear(D, D, bias=False)),
    'one linear': lambda: Linear(D, D),
    'nested': lambda: Sequential(Sequential(Linear(D, D), BatchNorm1d(D)), Tanh(), Linear(D, D)),
    'norm first': lambda: Sequential(BatchNorm1d(D), Linear(D, D), BatchNorm1d(D, affine=False)),
    'no statistics': lambda: Sequential(Linear(D, D), BatchNorm1d(D, track_running_stats=False)),
    'layer norm': lambda: Sequential(LayerNorm(D), Linear(D, D), Tanh()),
    'opaque': Opaque,
    'hook': lambda: Sequential(Hooked(), Tanh(), Hooked()),
    'spectral': lambda: Sequential(
        torch.nn.utils.parametrizations.weight_norm(Linear(D, D)), Tanh(), Linear(D, D)
    ),
    'pyg': lambda: Sequential(PygLinear(D, D), PygBatchNorm(D), Tanh(), PygLinear(D, D)),
    'pyg mlp': lambda: MLP([D, 6, D], norm='batch_norm', act='tanh'),
    'subclass': lambda: Sequential(Linear(D, D), Doubled(D), Tanh()),
    'sync': lambda: Sequential(Linear(D, D), torch.nn.SyncBatchNorm(D), Tanh()),
    'empty': Sequential,
}


def state(conv, x, out, inputs):
    """All that two implementations must agree on after a forward pass."""
    grads = torch.autograd.grad(
        (out * torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out)).sum(),
        [*inputs, *conv.parameters()],
        allow_unused=True,
        materialize_grads=True,
    )
    return [out, *grads, *conv.buffers()]


def assert_equals_naive(conv, edge_index, num_nodes, edge_dim=None):
    conv = conv.double()
    inputs = [torch.randn(num_nodes, D, dtype=torch.double, requires_grad=True)]
    if edge_dim is not None:
        size = (edge_index.size(1), edge_dim)
        inputs.append(torch.randn(*size, dtype=torch.double, requires_grad=True))
    x, *edge_attr = inputs
    reference = copy.deepcopy(conv)
    for training in (True, True, False):
        conv.train(training)
        reference.train(training)
        ours = state(conv, x, conv(x, edge_index, *edge_attr), inputs)
        theirs = state(reference, x, naive_conv(reference, x, edge_index, *edge_attr), inputs)
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize('name', NETWORKS)
@pytest.mark.parametrize('p', [0.3, 0.8])  # fewer, and more, edges on triangles than nodes
def test_equals_naive_reference(name, p):
    torch.manual_seed(1)
    conv = NCGNNConv(Sequential(Linear(D, 5), Tanh()), NETWORKS[name](), eps=0.3)
    edge_index = dense_graph(10, p)
    incidence = TriangleIncidence.build(edge_index, 10)
    assert (incidence.num_edges < 10) == (p == 0.3)
    assert incidence.num_edges > 0
    assert_equals_naive(conv, edge_index, 10)


@pytest.mark.parametrize('name', NETWORKS)
@pytest.mark.parametrize('edge_dim', [None, 3])
def test_edge_conv_equals_naive_reference(name, edge_dim):
    torch.manual_seed(1)
    nn = Sequential(Linear(D, 5), Tanh())
    conv = NCGNNEConv(nn, NETWORKS[name](), eps=0.3, edge_dim=edge_dim)
    assert_equals_naive(conv, dense_graph(10, 0.8), 10, edge_dim or D)


@settings(deadline=None, max_examples=60)
@given(graphs(min_nodes=2))
def test_equals_naive_reference_on_any_graph(graph):
    torch.manual_seed(0)
    edge_index, num_nodes = graph
    # No BatchNorm in MLP1: over two nodes of nearly the same sum, no two orders of
    # summation agree.
    mlp1 = Sequential(Linear(D, D), Tanh())
    assert_equals_naive(NCGNNConv(mlp1, paper_mlp()), edge_index, num_nodes)
    conv = NCGNNEConv(mlp1, paper_mlp(), edge_dim=2)
    assert_equals_naive(conv, edge_index, num_nodes, edge_dim=2)


def test_by_hand():
    # Nodes 0, 1, 2 form a triangle, 3 hangs on 2; MLP2 doubles, MLP1 does nothing.
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
    double = Linear(1, 1)
    conv = NCGNNConv(Sequential(), double, eps=0.5)
    double.weight.data.fill_(2.0)
    double.bias.data.fill_(0.25)
    x = torch.tensor([[1.0], [10.0], [100.0], [1000.0]])
    expected = [
        [1.5 * 1 + 10 + 100 + 2 * (10 + 100) + 0.25],
        [1.5 * 10 + 1 + 100 + 2 * (1 + 100) + 0.25],
        [1.5 * 100 + 1 + 10 + 1000 + 2 * (1 + 10) + 0.25],
        [1.5 * 1000 + 100],
    ]
    assert conv(x, edge_index).tolist() == expected


def test_repr_and_parameters():
    conv = NCGNNConv(Linear(2, 3), Linear(2, 2), train_eps=False)
    assert str(conv) == f'NCGNNConv(nn={Linear(2, 3)}, nn_communicate={Linear(2, 2)})'
    assert [name for name, _ in conv.named_buffers()] == ['eps']
    edge_conv = NCGNNEConv(Sequential(Linear(2, 3)), Linear(2, 2), eps=0.5, edge_dim=7)
    assert str(edge_conv).startswith('NCGNNEConv(nn=Sequential')
    assert edge_conv.lin.weight.shape == (2, 7)
    assert edge_conv.eps.tolist() == [0.5]
    before = copy.deepcopy(edge_conv.state_dict())
    edge_conv.eps.data.fill_(7.0)
    edge_conv.reset_parameters()
    assert edge_conv.eps.tolist() == [0.5]
    for key in ('nn.0.weight', 'nn_communicate.weight', 'lin.weight'):
        assert not torch.equal(before[key], edge_conv.state_dict()[key])


def test_networks_stay_ordinary_modules():
    conv = NCGNNConv(paper_mlp(), paper_mlp())
    conv(torch.randn(9, D), dense_graph())
    rows = torch.randn(12, D)
    fresh = paper_mlp()
    fresh.load_state_dict(conv.nn_communicate.state_dict())
    assert torch.equal(fresh(rows), conv.nn_communicate(rows))
    assert fresh.state_dict().keys() == conv.nn_communicate.state_dict().keys()


def test_without_triangles_it_is_gin():
    edge_index = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0, 4], [1, 0, 2, 1, 3, 2, 0, 3, 4]])
    x, edge_attr = torch.randn(6, D), torch.randn(9, D)
    for ours, theirs, args in (
        (NCGNNConv, GINConv, (x, edge_index)),
        (NCGNNEConv, GINEConv, (x, edge_index, edge_attr)),
    ):
        nn = paper_mlp()
        gin = theirs(copy.deepcopy(nn), eps=0.2, train_eps=True)
        conv = ours(nn, paper_mlp(), eps=0.2)
        gin.load_state_dict(conv.state_dict(), strict=False)
        before = copy.deepcopy(conv.nn_communicate.state_dict())
        torch.testing.assert_close(conv(*args), gin(*args))
        # Unused parameters still get a (zero) gradient, as DDP demands.
        conv(*args).sum().backward()
        assert all(torch.equal(p.grad, 0 * p) for p in conv.nn_communicate.parameters())
        for key, value in conv.nn_communicate.state_dict().items():
            assert torch.equal(value, before[key])


@pytest.mark.filterwarnings('ignore:Sparse')
def test_all_forms_of_triangles_and_adjacency_agree():
    edge_index, x = dense_graph(), torch.randn(9, D)
    conv = NCGNNConv(paper_mlp(), paper_mlp()).eval()
    expected = conv(x, edge_index)
    triangles = find_triangles(edge_index, 9)
    assert torch.equal(conv(x, edge_index, triangles), expected)
    assert torch.equal(conv(x, edge_index, TriangleIncidence.build(edge_index, 9)), expected)
    adj_t = to_torch_coo_tensor(edge_index, size=9).t().to_sparse_csr()
    torch.testing.assert_close(conv(x, adj_t), expected)
    shuffled = edge_index[:, torch.randperm(edge_index.size(1))]
    copies = torch.cat([edge_index, edge_index[:, :1]], dim=1)
    for edges in (edge_index, shuffled, copies):
        torch.testing.assert_close(conv(x, adj_t, TriangleIncidence.build(edges, 9)), expected)


@pytest.mark.filterwarnings('ignore:Sparse')
def test_a_sparse_adjacency_and_the_triangles_of_another_graph():
    edge_index, x = dense_graph(), torch.randn(9, D)
    conv = NCGNNConv(paper_mlp(), paper_mlp())
    other = (edge_index + 1) % 9  # a graph of the same size and degrees
    assert not torch.equal(to_undirected(other), to_undirected(edge_index))
    adj_t = to_torch_coo_tensor(other, size=9).t().to_sparse_csr()
    with pytest.raises(ValueError, match='built from other edges'):
        conv(x, adj_t, TriangleIncidence.build(edge_index, 9))


@given(graphs(min_nodes=2))
@settings(deadline=None, max_examples=30)
def test_permutation_equivariance_and_edge_order(graph):
    edge_index, num_nodes = graph
    torch.manual_seed(0)
    conv = NCGNNEConv(Sequential(Linear(D, D), Tanh()), paper_mlp()).double()
    x = torch.randn(num_nodes, D, dtype=torch.double)
    edge_attr = torch.randn(edge_index.size(1), D, dtype=torch.double)
    perm, order = torch.randperm(num_nodes), torch.randperm(edge_index.size(1))
    permuted = torch.empty_like(x)
    permuted[perm] = x
    out = conv(permuted, perm[edge_index][:, order], edge_attr[order])
    torch.testing.assert_close(out[perm], conv(x, edge_index, edge_attr))


def test_batched_equals_single():
    conv = NCGNNConv(paper_mlp(), paper_mlp()).double().eval()
    data_list = [
        Data(x=torch.randn(n, D).double(), edge_index=dense_graph(n, seed=n)) for n in (5, 8, 11)
    ]
    batch = Batch.from_data_list(data_list)
    single = torch.cat([conv(data.x, data.edge_index) for data in data_list])
    torch.testing.assert_close(conv(batch.x, batch.edge_index), single)


@pytest.mark.parametrize('train_eps', [True, False])
def test_gradcheck(train_eps):
    edge_index = dense_graph(6)
    conv = NCGNNEConv(
        Sequential(Linear(2, 2), Tanh()),
        Sequential(Linear(2, 2), BatchNorm1d(2, track_running_stats=False), Tanh(), Linear(2, 2)),
        train_eps=train_eps,
    ).double()
    x = torch.randn(6, 2, dtype=torch.double, requires_grad=True)
    # Away from the kink of GINE's ReLU.
    edge_attr = torch.randn(edge_index.size(1), 2, dtype=torch.double).sign() * 5
    edge_attr.requires_grad_()
    incidence = TriangleIncidence.build(edge_index, 6)

    def function(x, edge_attr, *parameters):
        named = dict(zip(dict(conv.named_parameters()), parameters, strict=True))
        return torch.func.functional_call(conv, named, (x, edge_index, edge_attr, incidence))

    inputs = (x, edge_attr, *conv.parameters())
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize('name', ['paper', 'plain'])
def test_transforms_of_torch(name):
    torch.manual_seed(0)
    edge_index, x = dense_graph(12, 0.8), torch.randn(12, D)
    conv = NCGNNConv(Sequential(Linear(D, D)), NETWORKS[name]()).eval()

    def loss(x, parameters):
        return torch.func.functional_call(conv, parameters, (x, edge_index)).square().sum()

    parameters = dict(conv.named_parameters())
    found = torch.func.grad(loss, argnums=(0, 1))(x, parameters)
    x.requires_grad_()
    loss(x, parameters).backward()
    torch.testing.assert_close(found[0], x.grad, rtol=1e-4, atol=1e-4)
    for key, parameter in parameters.items():
        torch.testing.assert_close(found[1][key], parameter.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings('ignore:There is a performance drop')
@pytest.mark.parametrize('training', [False, True])
def test_many_gradients_at_once(training):
    torch.manual_seed(0)
    edge_index, x = dense_graph(12, 0.8), torch.randn(12, D, requires_grad=True)
    conv = NCGNNConv(Sequential(Linear(D, 1)), paper_mlp()).train(training)
    with kernels.use('torch'):
        out = conv(x, edge_index).flatten()
        (found,) = torch.autograd.grad(
            out, x, torch.eye(12), is_grads_batched=True, retain_graph=True
        )
        if not training:
            jacobian = torch.func.jacrev(lambda x: conv(x, edge_index).flatten())(x)
            torch.testing.assert_close(jacobian, found, rtol=1e-4, atol=1e-4)
    for i in range(12):
        (expected,) = torch.autograd.grad(out[i], x, retain_graph=True)
        torch.testing.assert_close(found[i], expected, rtol=1e-4, atol=1e-4)


def test_edge_features_of_another_width_are_refused():
    incidence = TriangleIncidence.build(dense_graph(12), 12)
    with pytest.raises(ValueError, match="'edge_attr' must have shape"):
        communicate(
            Linear(1, D), torch.randn(12, 1), incidence, torch.randn(incidence.num_edges, D)
        )


@pytest.mark.parametrize(('dtype', 'tolerance'), [(torch.float32, 1e-5), (torch.bfloat16, 3e-2)])
def test_lower_precision(dtype, tolerance):
    torch.manual_seed(0)
    edge_index, x = dense_graph(30, 0.4), torch.randn(30, 16, dtype=torch.double)
    conv = NCGNNConv(paper_mlp(16, 16), paper_mlp(16, 16)).double()
    expected = conv(x, edge_index)
    conv, x = conv.float(), x.float().requires_grad_()
    with torch.autocast('cpu', dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        out = conv(x, edge_index)
    assert (out.double() - expected).norm() < tolerance * expected.norm()
    out.float().sum().backward()
    for tensor in (x, *conv.parameters()):
        assert tensor.grad.dtype == torch.float32
        assert tensor.grad.isfinite().all()


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('name', ['paper', 'plain', 'opaque', 'pyg mlp'])
def test_no_host_synchronisation_on_the_meta_device(name, training):
    edge_index = dense_graph(40, 0.5)
    incidence = TriangleIncidence.build(edge_index, 40).to('meta')
    edge_index = edge_index.to('meta')
    conv = NCGNNConv(paper_mlp(), NETWORKS[name]()).to('meta').train(training)
    edge_conv = NCGNNEConv(paper_mlp(), NETWORKS[name](), edge_dim=2).to('meta').train(training)
    x = torch.empty(40, D, device='meta', requires_grad=True)
    edge_attr = torch.empty(edge_index.size(1), 2, device='meta', requires_grad=True)
    out = conv(x, edge_index, incidence) + edge_conv(x, edge_index, edge_attr, incidence)
    out.sum().backward()
    assert out.is_meta
    for tensor in (x, edge_attr, *conv.parameters(), *edge_conv.parameters()):
        assert tensor.grad.is_meta


@pytest.mark.parametrize('edge_features', [False, True])
def test_triangles_of_another_graph_are_refused(edge_features):
    edge_index = dense_graph()
    x, edge_attr = torch.randn(9, D), torch.randn(edge_index.size(1), D)
    conv = (NCGNNEConv if edge_features else NCGNNConv)(paper_mlp(), paper_mlp())
    args = (x, edge_index, edge_attr) if edge_features else (x, edge_index)
    as_large = TriangleIncidence.build(edge_index.flip(1).roll(1, 0), 9)
    fewer = TriangleIncidence.build(edge_index[:, 2:], 9)
    changed = edge_index.clone()
    stale = TriangleIncidence.build(changed, 9)
    changed[:, 0] = 3
    for incidence in (as_large, fewer, stale):
        with pytest.raises(ValueError, match="'triangle_index' was built from other edges"):
            conv(*args, incidence)
    with pytest.raises(ValueError, match="'triangle_index' was built from other edges"):
        conv.to('meta')(*(arg.to('meta') for arg in args), fewer.to('meta'))


@pytest.mark.parametrize('conv', [NCGNNConv, NCGNNEConv])
def test_bipartite_features_are_refused(conv):
    x, edge_index = torch.randn(9, D), dense_graph()
    edge_attr = torch.randn(edge_index.size(1), D)
    args = (edge_attr,) if conv is NCGNNEConv else ()
    with pytest.raises(ValueError, match=r"'x' must be one tensor .*to_homogeneous"):
        conv(paper_mlp(), paper_mlp())((x, x), edge_index, *args)


@pytest.mark.parametrize(
    'register',
    [
        torch.nn.modules.module.register_module_forward_hook,
        torch.nn.modules.module.register_module_forward_pre_hook,
        torch.nn.modules.module.register_module_full_backward_hook,
        torch.nn.modules.module.register_module_full_backward_pre_hook,
    ],
)
def test_hooks_of_all_modules_are_called(register):
    x, edge_index = torch.randn(9, D, requires_grad=True), dense_graph()
    conv, seen = NCGNNConv(paper_mlp(), Sequential(Linear(D, D))), []
    handle = register(lambda module, *args: seen.append(module))
    try:
        conv(x, edge_index).sum().backward()
    finally:
        handle.remove()
    assert set(seen) == set(conv.modules())


@pytest.mark.filterwarnings('ignore')  # what torch has to say of graph breaks
@pytest.mark.parametrize('name', ['paper', 'plain', 'opaque'])
def test_compile(name):
    torch.manual_seed(0)
    edge_index, x = dense_graph(20), torch.randn(20, D, requires_grad=True, dtype=torch.double)
    incidence = TriangleIncidence.build(edge_index, 20)
    conv = NCGNNConv(paper_mlp(), NETWORKS[name]()).double()
    expected_conv = copy.deepcopy(conv)
    compiled = torch.compile(conv, backend='aot_eager')
    for _ in range(2):
        ours = state(conv, x, compiled(x, edge_index, incidence), [x])
        theirs = state(expected_conv, x, expected_conv(x, edge_index, incidence), [x])
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b)


def test_memory_follows_the_edges_not_the_messages():
    # A clique of 200 nodes: 19,900 edges, 3.9 million messages.
    num_nodes, channels = 200, 16
    edge_index = torch.combinations(torch.arange(num_nodes)).t()
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    conv = NCGNNConv(paper_mlp(channels, channels), paper_mlp(channels, channels))
    x = torch.randn(num_nodes, channels, requires_grad=True)
    with torch.profiler.profile(profile_memory=True) as profile:
        conv(x, edge_index, incidence).sum().backward()
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    assert largest <= 2 * incidence.num_edges * channels * 4
    assert largest < incidence.num_messages * channels * 4 / 50


def test_dropout_in_nn_communicate():
    conv = NCGNNConv(Sequential(), Sequential(Linear(D, D, bias=False), Dropout(1.0)))
    gin = GINConv(Sequential())
    x, edge_index = torch.randn(9, D), dense_graph()
    assert torch.equal(conv(x, edge_index), gin(x, edge_index))
    assert not torch.allclose(conv.eval()(x, edge_index), gin(x, edge_index))


def test_more_messages_than_half_precision_can_count():
    num_nodes = 400  # 79,401 messages to every node
    edge_index = torch.combinations(torch.arange(num_nodes)).t()
    nn = Sequential(Linear(D, D), Tanh(), Linear(D, D))
    torch.nn.init.zeros_(nn[2].bias)
    conv, x = NCGNNConv(Sequential(), nn), torch.randn(num_nodes, D) / 100
    expected = conv(x, edge_index)
    with torch.autocast('cpu', dtype=torch.float16):
        out = conv(x, edge_index)
    torch.testing.assert_close(out.float(), expected, rtol=0.05, atol=0.05 * expected.std().item())


def test_hessian_of_a_frozen_model():
    conv = NCGNNConv(Sequential(Linear(D, D), Tanh()), paper_mlp()).double().requires_grad_(False)
    edge_index, x = dense_graph(), torch.randn(9, D, dtype=torch.double, requires_grad=True)
    (grad,) = torch.autograd.grad(conv(x, edge_index).sum(), x, create_graph=True)
    grad.square().sum().backward()
    assert x.grad.isfinite().all()


def test_a_forward_that_was_replaced():
    linear = Linear(D, D)
    linear.forward = lambda x: 2 * Linear.forward(linear, x)
    conv = NCGNNConv(Sequential(), Sequential(linear, Tanh()))
    edge_index, x = dense_graph(), torch.randn(9, D)
    torch.testing.assert_close(conv(x, edge_index), naive_conv(conv, x, edge_index))


def test_threads_do_not_disturb_each_other():
    conv = NCGNNConv(Sequential(), Opaque()).double().eval()
    edge_index, x = dense_graph(), torch.randn(9, D, dtype=torch.double)
    expected = conv(x, edge_index)
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda _: conv(x, edge_index), range(100)))
    assert all(torch.equal(out, expected) for out in outputs)


def test_bad_input():
    edge_index, x = dense_graph(), torch.randn(9, D)
    with pytest.raises(ValueError, match=r"'nn_communicate' must map to .* \(4, got 7\)"):
        NCGNNConv(Linear(D, 3), Linear(D, 7))(x, edge_index)
    incidence = TriangleIncidence.build(dense_graph(5), 5)
    with pytest.raises(ValueError, match='9 rows, but the triangles belong to a graph of 5'):
        NCGNNConv(Linear(D, 3), Linear(D, D))(x, edge_index, incidence)
    with pytest.raises(ValueError, match="Consider setting the 'edge_dim'"):
        NCGNNEConv(Linear(D, 3), Linear(D, D))(x, edge_index, torch.ones(edge_index.size(1), 2))
    with pytest.raises(ValueError, match=r'shape \[E, channels\]'):
        NCGNNEConv(Linear(D, 3), Linear(D, D))(x, edge_index, torch.ones(edge_index.size(1)))
    with pytest.raises(ValueError, match=r"'x' must have shape"):
        NCGNNConv(Linear(D, 3), Linear(D, D))(x[None], edge_index, incidence)
    with pytest.raises(ValueError, match='Could not infer input channels'):
        NCGNNEConv(Tanh(), Linear(D, D), edge_dim=3)


def test_subclasses_have_a_say_in_message_passing():
    class Shifted(NCGNNConv):
        def update(self, inputs):
            return inputs + 1000

    x, edge_index = torch.randn(9, D), dense_graph()
    out = Shifted(Sequential(), Linear(D, D))(x, edge_index)
    assert (out > 500).all()


@pytest.mark.parametrize('edges', [0, 60])
def test_half_precision_throughout(edges):
    conv = NCGNNConv(Linear(D, D), paper_mlp()).bfloat16()
    out = conv(torch.randn(9, D).bfloat16(), dense_graph(9, 0.9)[:, :edges])
    assert out.dtype == torch.bfloat16


def test_gradient_of_features_without_triangles():
    x = torch.randn(4, D, requires_grad=True)
    incidence = TriangleIncidence.build(torch.empty(2, 0, dtype=torch.long), 4)
    (grad,) = torch.autograd.grad(communicate(paper_mlp(), x, incidence).sum(), x)
    assert torch.equal(grad, torch.zeros(4, D))
