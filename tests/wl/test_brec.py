import numpy as np
import pytest

from graphgym_nc.wl import distinguishes
from graphgym_nc.wl.brec import CATEGORIES, load_brec
from graphgym_nc.wl.graph6 import decode_graph6

# Table 2 of BREC's paper, where regular, strongly regular, 4-vertex condition and
# distance regular graphs are one category of 140 pairs. Its 60 of the CFI pairs
# take minutes.
PARTED_BY_3_WL = {'basic': 60, 'regular': 50, 'str': 0, 'extension': 100, '4vtx': 0, 'dr': 0}


def test_load(shared_data):
    brec = load_brec(shared_data / 'brec')
    assert list(brec) == [category.file for category in CATEGORIES]
    assert {file: len(pairs) for file, pairs in brec.items()} == {
        category.file: category.num_pairs for category in CATEGORIES
    }
    assert sum(map(len, brec.values())) == 400
    for pairs in brec.values():
        for g, h in pairs:
            assert len(decode_graph6(g)) == len(decode_graph6(h))


def test_1_wl_parts_none(shared_data):
    for pairs in load_brec(shared_data / 'brec').values():
        assert not [pair for pair in pairs if distinguishes(*pair, '1-wl')]


@pytest.mark.parametrize('file', PARTED_BY_3_WL)
def test_3_wl_parts_as_many_as_published(file, shared_data):
    pairs = load_brec(shared_data / 'brec')[file]
    assert sum(distinguishes(*pair, '3-wl') for pair in pairs) == PARTED_BY_3_WL[file]


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r'basic\.npy'):
        load_brec(tmp_path)
    np.save(tmp_path / 'basic.npy', np.array(['Bw', 'Bw']))
    with pytest.raises(ValueError, match=r"basic\.npy' must hold 60 pairs .*shape \[2\]"):
        load_brec(tmp_path)
