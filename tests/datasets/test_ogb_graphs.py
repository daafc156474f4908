import io
import shutil
from pathlib import Path
from urllib.error import URLError

import pytest
import torch

from graphgym_nc.datasets import OGBGraphs, download
from graphgym_nc.datasets.ppa_like import draw_ppa_like, save_ppa_like
from tests.datasets.ogb_text import write_text


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    def ask(*_):
        raise AssertionError('nobody is there to answer')

    def urlopen(url, timeout):
        raise URLError('no network in tests')

    monkeypatch.setattr('builtins.input', ask)
    monkeypatch.setattr(download, 'urlopen', urlopen)


@pytest.fixture
def graphs():
    return draw_ppa_like(45, num_nodes=10, num_edges=20)


def test_official_form(tmp_path, graphs):
    write_text(tmp_path / 'ogbg_ppa', graphs)
    dataset = OGBGraphs(tmp_path, 'ogbg-ppa')
    assert (len(dataset), dataset.num_classes, dataset.source) == (45, 37, 'OGB')
    assert [index.tolist() for index in dataset.split_idxs] == [
        list(range(22)), list(range(22, 33)), list(range(33, 45)),
    ]  # fmt: skip
    data = dataset[7]
    assert data.x is None
    assert data.num_nodes == graphs.num_nodes[7]
    assert data.y.tolist() == [graphs.labels[7].tolist()]
    edges = torch.from_numpy(graphs.edges[7])
    assert torch.equal(data.edge_index[:, ::2], edges)
    assert torch.equal(data.edge_index[:, 1::2], edges.flip(0))
    assert torch.equal(data.edge_attr[1::2], torch.from_numpy(graphs.features[7]))


def test_own_set_takes_precedence_and_says_so(tmp_path, graphs, caplog):
    save_ppa_like(tmp_path / 'ogbg_ppa', graphs)
    dataset = OGBGraphs(tmp_path, 'ogbg-ppa')
    assert len(dataset) == 45
    assert "not OGB's" in dataset.source
    assert '*** ogbg-ppa' in caplog.text
    moved = tmp_path / 'elsewhere'
    shutil.move(tmp_path / 'ogbg_ppa', moved / 'ogbg_ppa')  # with the path in it outdated
    assert torch.equal(OGBGraphs(moved, 'ogbg-ppa')[3].edge_index, dataset[3].edge_index)


def test_graphs_that_have_been_seen_are_not_kept(tmp_path, graphs):
    save_ppa_like(tmp_path / 'ogbg_ppa', graphs)
    dataset = OGBGraphs(tmp_path, 'ogbg-ppa')
    for part in (dataset, dataset[dataset.split_idxs[0]]):
        assert len(list(part)) == len(part)
        assert part._data_list is None
        assert part._data is dataset._data


def test_raw_files_are_not_needed_once_converted(tmp_path, graphs):
    write_text(tmp_path / 'ogbg_ppa', graphs)
    OGBGraphs(tmp_path, 'ogbg-ppa')
    shutil.rmtree(tmp_path / 'ogbg_ppa' / 'raw')
    assert len(OGBGraphs(tmp_path, 'ogbg-ppa')) == 45


def test_offline(tmp_path):
    for _ in range(2):  # what the first leaves behind must not confuse the second
        with pytest.raises(FileNotFoundError, match=r"unpack it, and move .*raw.* to '.*ogbg_ppa"):
            OGBGraphs(tmp_path, 'ogbg-ppa')


def test_unknown_name(tmp_path):
    with pytest.raises(ValueError, match='OGB knows ogbg-molbace'):
        OGBGraphs(tmp_path, 'ogbg-pap')


def test_incomplete_folders(tmp_path, graphs):
    write_text(tmp_path / 'ogbg_ppa', graphs)
    (tmp_path / 'ogbg_ppa' / 'raw' / 'edge.csv.gz').unlink()
    with pytest.raises(FileNotFoundError, match=r'there must be edge.csv.gz'):
        OGBGraphs(tmp_path, 'ogbg-ppa')
    (tmp_path / 'ogbg_ppa' / 'RELEASE_v1.txt').unlink()
    with pytest.raises(FileNotFoundError, match=r"has lost its 'RELEASE_v1.txt'"):
        OGBGraphs(tmp_path, 'ogbg-ppa')


def test_download(tmp_path, graphs, monkeypatch):
    write_text(tmp_path / 'ogbg_ppi_medium', graphs)
    archive = shutil.make_archive(
        str(tmp_path / 'archive'), 'zip', tmp_path, base_dir='ogbg_ppi_medium'
    )
    asked = []

    class Response(io.BytesIO):
        headers = {}  # noqa: RUF012

    def urlopen(url, timeout):
        asked.append(url)
        return Response(Path(archive).read_bytes())

    monkeypatch.setattr(download, 'urlopen', urlopen)
    for _ in range(2):
        assert len(OGBGraphs(tmp_path / 'new', 'ogbg-ppa')) == 45
    assert len(asked) == 1
    assert asked[0].endswith('/ogbg_ppi_medium.zip')
