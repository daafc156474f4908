from graphgym_nc.settings import differing


def test_differing_by_hand():
    before = {'seed': 0, 'gnn': {'dim_inner': 8, 'act': 'relu'}, 'share': {'dim_in': 1}}
    now = {'seed': 1, 'gnn': {'dim_inner': 9, 'act': 'relu', 'agg': 'add'}, 'share': {'dim_in': 2}}
    assert differing(before, now) == {'gnn.dim_inner': (8, 9), 'gnn.agg': (None, 'add')}
    assert differing(before, before) == {}
