import torch
from hypothesis import given
from torch_geometric.data import Data

from graphgym_nc.datasets.fingerprint import data_fingerprint
from graphgym_nc.triangles.checksum import _mix, fingerprint
from tests.reference import dense_graph, graphs


@given(graphs())
def test_edges_in_any_order(graph):
    edge_index, _ = graph
    order = torch.randperm(edge_index.size(1))
    assert torch.equal(fingerprint(edge_index), fingerprint(edge_index[:, order]))


def test_any_change_shows():
    edge_index = dense_graph()
    seen = {fingerprint(edge_index).item()}
    for i in range(edge_index.size(1)):
        fewer = torch.cat([edge_index[:, :i], edge_index[:, i + 1 :]], dim=1)
        seen.add(fingerprint(fewer).item())
    seen.add(fingerprint(edge_index.flip(0)[:, :5]).item())
    seen.add(fingerprint(edge_index + 1).item())
    assert len(seen) == edge_index.size(1) + 3


def test_mixing_is_a_bijection():
    colliding = torch.tensor([-7834669104811992939, 8852900565589718062])  # with shifted signs
    mixed = _mix(torch.cat([torch.arange(-(10**5), 10**5), colliding]))
    assert mixed.unique().numel() == mixed.numel()
    assert 0.49 < mixed.lt(0).double().mean() < 0.51
    # The first number of splitmix64, of seed 0.
    assert _mix(torch.tensor([1])).item() == 0xE220A8397B1DCDAF - 2**64


def test_fingerprint_of_a_data_set():
    data = Data(x=torch.arange(6.0).view(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    first = data_fingerprint(data)
    assert first == data_fingerprint(data.clone())
    for key, value in (('x', data.x + 1), ('x', data.x.view(2, 3)), ('y', torch.ones(1))):
        changed = data.clone()
        changed[key] = value
        assert data_fingerprint(changed) != first
