from graphgym_nc.settings import differing


def test_differing_by_hand():
    before = {'seed': 0, 'gnn': {'dim_inner': 8, 'act': 'relu'}, 'share': {'dim_in': 1}}
    now = {'seed': 1, 'gnn': {'dim_inner': 9, 'act': 'relu', 'agg': 'max'}, 'share': {'dim_in': 2}}
    assert differing(before, now) == {'gnn.dim_inner': (8, 9), 'gnn.agg': ('add', 'max')}
    assert differing(before, before) == {}


def test_a_key_that_is_not_there_has_its_default():
    before, now = {'gnn': {'dim_inner': 8}}, {'gnn': {'dim_inner': 8, 'agg': 'add'}}
    assert differing(before, now) == differing(now, before) == {}
    assert differing({}, {'nc': {'init': 'torch'}}) == {'nc.init': ('xavier', 'torch')}
    assert differing({}, {'unknown': 1}) == {'unknown': (None, 1)}


def test_what_is_faster_is_not_different():
    assert differing({'nc': {'kernel': 'numba'}}, {'nc': {'kernel': 'torch'}}) == {}
