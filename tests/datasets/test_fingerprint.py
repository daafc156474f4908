import pytest
import torch
from torch_geometric.data import Data

from graphgym_nc.datasets.fingerprint import data_fingerprint

EDGES = torch.tensor([[0, 1], [1, 2]])


def test_the_order_of_attributes_and_what_is_no_tensor_do_not_matter():
    one = Data(x=torch.ones(3, 2), edge_index=EDGES, name='one')
    other = Data(edge_index=EDGES.clone(), x=torch.ones(2, 3).t(), name='other')
    assert data_fingerprint(one) == data_fingerprint(other)


@pytest.mark.parametrize(
    'other',
    [
        Data(x=torch.ones(3, 2), edge_index=EDGES.flip(1)),
        Data(x=torch.ones(2, 3), edge_index=EDGES),
        Data(x=torch.ones(3, 2).double(), edge_index=EDGES),
        Data(x=torch.ones(3, 2, dtype=torch.int32), edge_index=EDGES),
        Data(z=torch.ones(3, 2), edge_index=EDGES),
        Data(x=torch.ones(3, 2), edge_index=EDGES, y=torch.zeros(1)),
    ],
)
def test_other_values_shapes_types_and_names_do(other):
    assert data_fingerprint(other) != data_fingerprint(Data(x=torch.ones(3, 2), edge_index=EDGES))
