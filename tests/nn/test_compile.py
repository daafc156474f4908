"""Torch's compiler and exporter on the torch path, with triangles that have been found."""

import copy

import pytest
import torch
import torch_geometric.nn
from torch._dynamo.utils import counters
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from graphgym_nc import TriangleIncidence, kernels
from graphgym_nc.nn import NCGNNConv
from tests.compilers import needs_compiler
from tests.reference import dense_graph

D = 8

pytestmark = pytest.mark.filterwarnings('ignore')  # what torch has to say of its own code


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    torch.compiler.reset()
    counters.clear()
    yield
    torch.compiler.reset()


def mlp(stages):
    layers = [Linear(D, D), BatchNorm1d(D), ReLU()]
    return Sequential(*(copy.deepcopy(layer) for _ in range(stages) for layer in layers))


def layer(stages=2, aggr='add'):
    return NCGNNConv(mlp(2), mlp(stages), communicate_aggr=aggr)


def network():
    of_layer = 'x, edge_index, incidence -> x'
    return torch_geometric.nn.Sequential(
        'x, edge_index, incidence',
        [(layer(1, 'sqrt'), of_layer), ReLU(), (layer(1, 'sqrt'), of_layer), Linear(D, 3)],
    )


MODELS = {'paper': layer, 'lean': lambda: layer(1, 'sqrt'), 'network': network}


def batch(num_nodes):
    edge_index = dense_graph(num_nodes)
    x = torch.randn(num_nodes, D, requires_grad=True)
    return x, edge_index, TriangleIncidence.build(edge_index, num_nodes)


def assert_same_training(compiled, model, sizes):
    expected_model = copy.deepcopy(model).double()
    for size in sizes:
        x, *args = batch(size)
        exact = x.detach().double().requires_grad_()
        with kernels.use('torch'):
            out = compiled(x, *args)
            expected = expected_model(exact, *args)
        torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-4)
        found = torch.autograd.grad(out.square().mean(), [x, *model.parameters()])
        wanted = [exact, *expected_model.parameters()]
        theirs = torch.autograd.grad(expected.square().mean(), wanted)
        for a, b in zip(found, theirs, strict=True):
            torch.testing.assert_close(a.double(), b, rtol=1e-3, atol=1e-4)
        for a, b in zip(model.buffers(), expected_model.buffers(), strict=True):
            torch.testing.assert_close(a.to(b.dtype), b, rtol=1e-4, atol=1e-4)


@needs_compiler
@pytest.mark.parametrize('name', MODELS)
def test_one_graph_for_batches_of_all_sizes(name):
    model = MODELS[name]()
    compiled = torch.compile(model, fullgraph=True, dynamic=True)
    assert_same_training(compiled, model, (20, 30, 25, 40))
    assert counters['stats']['unique_graphs'] == 1


def test_sizes_are_found_to_change():
    # Without `dynamic=True`: one graph for the first size, and one for all others.
    model = layer()
    compiled = torch.compile(model, fullgraph=True, backend='aot_eager')
    assert_same_training(compiled, model, (20, 30, 25, 40))
    assert counters['stats']['unique_graphs'] == 2


def test_compiled_layer_refuses_triangles_of_another_graph():
    x, edge_index, _ = batch(20)
    compiled = torch.compile(layer(), backend='aot_eager')
    with pytest.raises(ValueError, match='was built from other edges'):
        compiled(x, edge_index, TriangleIncidence.build(edge_index[:, 2:], 20))


@pytest.mark.parametrize('name', MODELS)
def test_export(name):
    model = MODELS[name]().eval()
    sizes = torch.export.AdditionalInputs()
    first, *others = (batch(size) for size in (20, 30))
    for each in (first, *others):
        sizes.add(each)
    program = torch.export.export(model, first, dynamic_shapes=sizes)
    x, *args = batch(26)
    with kernels.use('torch'):
        expected = model(x, *args)
    torch.testing.assert_close(program.module()(x, *args), expected)
