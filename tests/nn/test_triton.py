import copy
import dataclasses

import pytest
import torch
from hypothesis import given, settings
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential, Tanh

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv, NCGNNEConv
from tests.nn.test_fused import GRAPHS, NETWORKS, assert_fused_equals_naive, error
from tests.nn.test_nc_conv import paper_mlp, state
from tests.reference import dense_graph, graphs

triton_kernels = pytest.importorskip('graphgym_nc.kernels.triton', reason='needs triton')

D = 4
FEW, MANY = 'few edges on triangles', 'many'


@pytest.fixture(autouse=True)
def by_triton():
    with kernels.use('triton'):
        yield


@pytest.fixture
def launched(monkeypatch):
    """The names of all kernels that were launched."""
    names = []

    def spy(kernel, *args, **options):
        names.append(kernel.fn.__name__)
        return launch(kernel, *args, **options)

    launch = triton_kernels.launch
    for module in ('gradients', 'rows', 'segments'):
        monkeypatch.setattr(f'graphgym_nc.kernels.triton.{module}.launch', spy)
    return names


@pytest.mark.parametrize(
    ('name', 'graph'),
    [
        ('paper', MANY), ('one stage', MANY), ('paper', 'twins'), ('one stage', 'twins'),
        *((name, FEW) for name in NETWORKS if name != 'three'), ('three', 'twins'),
    ],
)  # fmt: skip
def test_equals_naive_reference(name, graph, launched):
    torch.manual_seed(1)
    conv = NCGNNConv(Sequential(Linear(D, 5), ReLU()), NETWORKS[name](), eps=0.3)
    assert_fused_equals_naive(conv, *GRAPHS[graph])
    assert 'sum_segments' in launched
    assert 'find_norm' in launched


def test_edge_features(launched):
    torch.manual_seed(1)
    conv = NCGNNEConv(Sequential(Linear(D, 5), ReLU()), paper_mlp(), edge_dim=3)
    assert_fused_equals_naive(conv, *GRAPHS[FEW], edge_dim=3)
    assert 'moments' in launched


@settings(max_examples=5)
@given(graphs(min_nodes=3, max_nodes=7))
def test_equals_naive_reference_on_any_graph(graph):
    torch.manual_seed(0)
    # BatchNorm over a few messages that are nearly equal has no stable gradient.
    mlp2 = Sequential(Linear(D, D), ReLU(), Linear(D, D), ReLU())
    assert_fused_equals_naive(NCGNNConv(Sequential(Linear(D, D)), mlp2), *graph)


@pytest.mark.parametrize('layers', [3, 6])
def test_many_rows_with_long_sums(layers, monkeypatch):
    monkeypatch.setattr('graphgym_nc.kernels.triton.segments.WINDOW', 40)
    torch.manual_seed(0)
    edge_index, x = dense_graph(14, 0.9), torch.randn(14, 9)
    conv = NCGNNConv(Sequential(), paper_mlp(9, 9)[:layers])
    other = copy.deepcopy(conv).double()
    ours = state(conv, x, conv(x, edge_index), [])
    with kernels.use('torch'):
        exact = state(other, x, other(x.double(), edge_index), [])
    assert error(ours, exact) < 1e-5


def test_wide_indices():
    torch.manual_seed(0)
    edge_index, num_nodes = GRAPHS[FEW]
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    parts = {
        name: getattr(incidence, name)._map(torch.Tensor.long)
        for name in ('neighbours', 'endpoints', 'opposite')
    }
    wide = dataclasses.replace(incidence, **parts, weight=incidence.weight.long())
    conv, x = NCGNNConv(Sequential(), paper_mlp()), torch.randn(num_nodes, D)
    ours, expected = (
        state(c, x, c(x, edge_index, i), [])
        for c, i in ((conv, wide), (copy.deepcopy(conv), incidence))
    )
    assert all(map(torch.equal, ours, expected))


def half_precision_errors(compute):
    """How far outputs, gradients and statistics are from float64, by Triton and by torch."""
    torch.manual_seed(0)
    edge_index, num_nodes = GRAPHS[FEW]
    conv = NCGNNConv(Sequential(), paper_mlp(7, 7))
    x = torch.randn(num_nodes, 7).bfloat16().float()
    conv.load_state_dict({k: v.bfloat16().to(v.dtype) for k, v in conv.state_dict().items()})
    exact = copy.deepcopy(conv).double()
    found = []
    for kernel in ('triton', 'torch'):
        with kernels.use(kernel):
            own = copy.deepcopy(conv)
            out = compute(own, x, edge_index)
            found.append(state(own, x, out, []))
    with kernels.use('torch'):
        expected = state(exact, x, exact(x.double(), edge_index), [])
    assert all(a.dtype == b.dtype for a, b in zip(*found, strict=True))
    return [error(tensors, expected) for tensors in found]


@pytest.mark.parametrize(
    'compute',
    [
        lambda conv, x, edge_index: conv.bfloat16()(x.bfloat16(), edge_index),
        torch.autocast('cpu', dtype=torch.bfloat16)(lambda conv, *inputs: conv(*inputs)),
    ],
    ids=['bfloat16', 'autocast'],
)
def test_half_precision_is_no_worse_than_that_of_torch(compute, launched):
    ours, theirs = half_precision_errors(compute)
    assert 'moments' in launched
    assert ours < max(2e-2, theirs)


def test_backward_pass_outside_of_the_choice(launched):
    conv, x = NCGNNConv(Sequential(), paper_mlp()), torch.randn(12, D, requires_grad=True)
    out = conv(x, GRAPHS[FEW][0]).sum()
    launched.clear()
    with kernels.use('auto'):
        out.backward()
    # Opposite edges and the neighbours of the layer; the ends of edges are added up before.
    assert launched.count('sum_segments') >= 2


def test_a_lean_network_keeps_nothing_for_edges():
    num_nodes, channels = 14, 8
    edge_index = dense_graph(num_nodes, 0.7)
    incidence = TriangleIncidence.build(edge_index, num_nodes)
    x, kept = torch.randn(num_nodes, channels, requires_grad=True), {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.numel()
        return tensor

    for layers, rows in ((3, 0), (6, 2)):
        kept.clear()
        conv = NCGNNConv(Sequential(), paper_mlp(channels, channels)[:layers])
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            conv(x, edge_index, incidence)
        assert sum(size >= incidence.num_edges * channels for size in kept.values()) == rows


@pytest.mark.parametrize('name', ['paper', 'one stage'])
def test_gradient_of_a_gradient(name):
    torch.manual_seed(0)
    edge_index, num_nodes = GRAPHS[MANY]
    conv = NCGNNConv(Sequential(Linear(D, D)), NETWORKS[name]())
    exact = copy.deepcopy(conv).double()
    x = torch.randn(num_nodes, D)
    found = []
    for own, features in ((conv, x), (exact, x.double())):
        features.requires_grad_()
        out = own(features, edge_index).square().sum()
        (grad,) = torch.autograd.grad(out, features, create_graph=True)
        found.append(torch.autograd.grad(grad.square().sum(), [features, own.nn[0].weight]))
    assert error(*found) < 1e-4


def test_statistics_tell_that_they_have_changed():
    conv = NCGNNConv(Sequential(), paper_mlp())
    norm = conv.nn_communicate[1]
    before = norm.running_mean._version, norm.running_var._version
    conv(torch.randn(12, D), GRAPHS[FEW][0])
    assert norm.running_mean._version > before[0]
    assert norm.running_var._version > before[1]


@pytest.mark.parametrize(
    ('network', 'dtype'),
    [
        (Sequential(Linear(D, D), Tanh()), torch.float32),
        (Sequential(Linear(D, D), ReLU()), torch.double),
        (Sequential(Linear(D, D), BatchNorm1d(D).double()), torch.float32),
    ],
)
def test_torch_computes_what_kernels_cannot(network, dtype, launched):
    conv, x = NCGNNConv(Sequential(), network), torch.randn(12, D, dtype=dtype)
    if dtype == torch.double:
        conv = conv.double()
    edge_index = GRAPHS[FEW][0]
    try:
        found = conv.eval()(x, edge_index)
    except RuntimeError:  # torch, too, takes no such network
        found = None
    assert 'find_norm' not in launched
    if found is not None:
        with kernels.use('torch'):
            torch.testing.assert_close(found, conv(x, edge_index))


def test_data_on_the_cpu(monkeypatch):
    monkeypatch.setattr(triton_kernels, 'INTERPRETED', False)
    conv, x = NCGNNConv(Sequential(), paper_mlp()), torch.randn(12, D)
    with pytest.raises(RuntimeError, match=r"'nc.kernel' is 'triton'.*TRITON_INTERPRET=1"):
        conv(x, GRAPHS[FEW][0])
    incidence = TriangleIncidence.build(*GRAPHS[FEW]).to('meta')
    assert conv.to('meta')(x.to('meta'), incidence.edge_index, incidence).is_meta
