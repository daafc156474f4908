import pytest
import yaml

from graphgym_nc.results.manifest import read_manifest
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.manifest import add_to_manifest
from graphgym_nc.sweeps.variants import Variant


def variant(name='nc-l=1', **config):
    return Variant(name, {'l': 1}, {'gnn': {'layers_mp': 1, **config}}, {})


def test_what_is_added_stays(tmp_path):
    paths = add_to_manifest(tmp_path / 'grid', [variant()], [0, 1])
    add_to_manifest(tmp_path / 'grid', [variant(), variant('nc-l=2')], [1, 2])
    entries = read_manifest(tmp_path / 'grid')
    assert {name: entry.seeds for name, entry in entries.items()} == {
        'nc-l=1': [0, 1, 2],
        'nc-l=2': [1, 2],
    }
    assert entries['nc-l=1'].values == {'l': 1}
    assert yaml.safe_load(paths['nc-l=1'].read_text()) == {'gnn': {'layers_mp': 1}}


def test_results_of_another_configuration_are_not_taken_for_these(tmp_path):
    add_to_manifest(tmp_path, [variant(act='relu')], [0])
    add_to_manifest(tmp_path, [variant(act='elu')], [0])  # nothing was run yet
    (tmp_path / 'nc-l=1').mkdir()
    with pytest.raises(GridError, match=r"'gnn.act: elu', but now it is 'relu'"):
        add_to_manifest(tmp_path, [variant('nc-l=2'), variant(act='relu')], [0])
    assert list(read_manifest(tmp_path)) == ['nc-l=1']
    same = variant(act='elu')
    same.config['dataset'] = {'dir': 'elsewhere'}
    add_to_manifest(tmp_path, [same], [0])


def test_a_key_that_is_named_at_its_default_is_no_other_configuration(tmp_path):
    add_to_manifest(tmp_path, [variant()], [0])
    (tmp_path / 'nc-l=1').mkdir()
    add_to_manifest(tmp_path, [variant(agg='add')], [1])
    assert read_manifest(tmp_path)['nc-l=1'].seeds == [0, 1]


def test_no_manifest(tmp_path):
    assert read_manifest(tmp_path) == {}
