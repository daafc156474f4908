from graphgym_nc.graphgym.keys import defaults
from graphgym_nc.results.differences import differing


def test_differing_by_hand():
    before = {'seed': 0, 'gnn': {'dim_inner': 8, 'act': 'relu'}, 'share': {'dim_in': 1}}
    now = {'seed': 1, 'gnn': {'dim_inner': 9, 'act': 'relu', 'agg': 'add'}, 'share': {'dim_in': 2}}
    assert differing(before, now) == {'gnn.dim_inner': (8, 9), 'gnn.agg': (None, 'add')}
    assert differing(before, before) == {}


def test_a_key_that_is_not_there_has_its_default():
    before, now = {'gnn': {'dim_inner': 8}}, {'gnn': {'dim_inner': 8, 'agg': 'add'}}
    assert differing(before, now).keys() == {'gnn.agg'}
    assert differing(before, now, defaults()) == differing(now, before, defaults()) == {}
    changed = {'nc': {'init': 'torch'}, 'unknown': 1}
    expected = {'nc.init': ('xavier', 'torch'), 'unknown': (None, 1)}
    assert differing({}, changed, defaults()) == expected


def test_what_is_faster_is_not_different():
    assert differing({'nc': {'kernel': 'numba'}}, {'nc': {'kernel': 'torch'}}) == {}
