import gzip
import pickle
import resource

import numpy as np
import pytest
import torch
from ogb.graphproppred import PygGraphPropPredDataset

from graphgym_nc.datasets import ogb_files
from graphgym_nc.datasets.ogb_files import convert, memory_mapped, ogb_files_allowed
from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like
from tests.datasets.ogb_text import write_text


@pytest.fixture
def graphs():
    return draw_ppa_like(45, num_nodes=10, num_edges=20)


def load(path):
    with ogb_files_allowed():
        return torch.load(path)


theirs_may_warn = pytest.mark.filterwarnings('ignore:The given NumPy array is not writable')


@theirs_may_warn
@pytest.mark.parametrize('chunk', [7, 1 << 18])
def test_text_is_converted_as_by_ogb_itself(tmp_path, graphs, monkeypatch, chunk):
    write_text(tmp_path / 'ogbg_ppa', graphs)
    with ogb_files_allowed():
        theirs = PygGraphPropPredDataset('ogbg-ppa', str(tmp_path))
    monkeypatch.setattr(ogb_files, '_CHUNK', chunk)
    convert(tmp_path / 'ogbg_ppa' / 'raw', tmp_path / 'ours.pt', binary=False)
    data, slices = load(tmp_path / 'ours.pt')
    assert data._store._num_nodes == theirs._data._store._num_nodes == graphs.num_nodes
    assert slices.keys() == theirs.slices.keys()
    for key in ('edge_index', 'edge_attr', 'y'):
        assert data[key].dtype == theirs._data[key].dtype
        assert torch.equal(data[key], theirs._data[key])
        assert torch.equal(slices[key], theirs.slices[key])
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ['ogbg_ppa', 'ours.pt']  # nothing is left over


@theirs_may_warn
def test_saved_sets_are_converted_as_by_ogb_itself(tmp_path, graphs):
    folder = tmp_path / 'ogbg_ppa'
    save_ppa_like(folder, graphs)
    meta = {**torch.load(folder / 'meta_dict.pt'), 'dir_path': str(folder)}
    scalar = [(type(np.int64(0)).__reduce__(np.int64(0))[0], 'numpy._core.multiarray.scalar')]
    with ogb_files_allowed(), torch.serialization.safe_globals(scalar):
        theirs = PygGraphPropPredDataset('ogbg-ppa', meta_dict=meta)
    convert(folder / 'raw', tmp_path / 'ours.pt', binary=True)
    data, slices = load(tmp_path / 'ours.pt')
    assert data._store._num_nodes == theirs._data._store._num_nodes
    for key in ('edge_index', 'edge_attr', 'y'):
        assert torch.equal(data[key], theirs._data[key])
        assert torch.equal(slices[key], theirs.slices[key])


def test_text_that_breaks_off(tmp_path, graphs):
    write_text(tmp_path / 'ogbg_ppa', graphs)
    path = tmp_path / 'ogbg_ppa' / 'raw' / 'edge-feat.csv.gz'
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b''.join(lines[:-1])))
    with pytest.raises(ValueError, match=r'edge-feat.csv.gz. has .* is it complete'):
        convert(path.parent, tmp_path / 'ours.pt', binary=False)
    assert not (tmp_path / 'ours.pt').exists()


@pytest.mark.parametrize('limit', [20_000, 60_000])  # as it reads, as it writes
def test_a_full_disk_is_an_error(tmp_path, graphs, limit):
    write_text(tmp_path / 'ogbg_ppa', graphs)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(OSError, match='File too large'):
            convert(tmp_path / 'ogbg_ppa' / 'raw', tmp_path / 'ours.pt', binary=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ['ogbg_ppa']


def test_what_is_on_disk_has_its_room(tmp_path):
    array = ogb_files._on_disk(tmp_path / 'array', np.int64, (1000, 1000))
    assert (tmp_path / 'array').stat().st_blocks * 512 >= array.nbytes


def test_classes_are_allowed_for_a_while(tmp_path):
    path = tmp_path / 'arrays.pt'
    torch.save({'train': np.arange(3)}, path)
    before = set(torch.serialization.get_safe_globals())
    with ogb_files_allowed():
        with ogb_files_allowed():
            pass
        assert torch.load(path)['train'].tolist() == [0, 1, 2]
    assert set(torch.serialization.get_safe_globals()) == before
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path)


def test_tensors_are_mapped(tmp_path):
    path = tmp_path / 'tensor.pt'
    torch.save(torch.arange(1 << 12), path)

    def is_mapped():
        tensor = torch.load(path)
        address = tensor.data_ptr()
        with open('/proc/self/maps') as maps:
            for line in maps:
                low, high = (int(part, 16) for part in line.split()[0].split('-'))
                if low <= address < high:
                    return str(path) in line
        return False

    with memory_mapped():
        assert is_mapped()
    assert not is_mapped()
