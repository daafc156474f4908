import subprocess
import sys

import pytest
from torch_geometric.graphgym import register

import graphgym_nc
from graphgym_nc.graphgym.register import register_once


def test_everything_is_registered():
    assert {'ncgnnconv', 'ncgnneconv', 'nc_ginconv', 'nc_gineconv'} <= register.layer_dict.keys()
    assert {'jkconcat', 'ogbstack'} <= register.stage_dict.keys()
    assert 'inductive_node' in register.head_dict
    assert {'LinearNode', 'PPANode'} <= register.node_encoder_dict.keys()
    assert {'weighted_cross_entropy', 'l1'} <= register.loss_dict.keys()
    assert {'accuracy_ogb', 'accuracy_sbm'} <= register.metric_dict.keys()
    assert 'one_cycle' in register.scheduler_dict


def run(code, *args):
    command = [sys.executable, '-W', 'ignore', '-c', code, *args]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


def test_importing_again_is_harmless():
    code = """
import importlib, sys
import graphgym_nc
for name in [name for name in sys.modules if name.startswith('graphgym_nc')]:
    importlib.reload(sys.modules[name])
"""
    run(code)


def test_after_an_import_that_broke_off():
    code = """
import sys
import torch_geometric.graphgym
sys.modules['graphgym_nc.graphgym.metric'] = None  # makes its import fail
try:
    import graphgym_nc
except ImportError:
    pass
for name in [name for name in sys.modules if name.startswith('graphgym_nc')]:
    del sys.modules[name]
import graphgym_nc
from torch_geometric.graphgym.config import cfg
print(cfg.nc.eps)
"""
    assert run(code) == '0.0'


def test_a_name_that_is_taken_stays_so():
    def mine(): ...

    mapping = {'gcnconv': register.layer_dict['gcnconv']}
    with pytest.raises(KeyError, match="already has a 'gcnconv'"):
        register_once(mapping, 'gcnconv')(mine)
    assert mapping['gcnconv'] is register.layer_dict['gcnconv']


def test_what_another_package_has_registered_is_kept():
    code = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format='%(message)s')
from torch_geometric.graphgym import register

def theirs(): ...

names = {
    'LinearNode': register.node_encoder_dict,
    'PPANode': register.node_encoder_dict,
    'inductive_node': register.head_dict,
    'weighted_cross_entropy': register.loss_dict,
    'accuracy_ogb': register.metric_dict,
    'reduce_on_plateau': register.scheduler_dict,
}
for name, mapping in names.items():
    register.register_base(mapping, name, theirs)
import graphgym_nc
assert all(mapping[name] is theirs for name, mapping in names.items())
assert register.node_encoder_dict['OneHotNode'] is not theirs
"""
    lines = run(code).splitlines()
    assert len(lines) == 6
    assert "*** 'LinearNode' is that of __main__.theirs, not graphgym_nc's" in lines


def test_a_layer_of_another_package_is_an_error():
    code = """
from torch_geometric.graphgym import register
register.register_layer('ncgnnconv', object)
try:
    import graphgym_nc
except KeyError as error:
    print(error)
"""
    assert "already has a 'ncgnnconv', from builtins.object" in run(code)


def test_core_needs_no_graphgym():
    # The files of the core, by themselves, import nothing of GraphGym.
    code = """
import sys, types
package = types.ModuleType('graphgym_nc')
package.__path__ = [sys.argv[1]]
sys.modules['graphgym_nc'] = package
import graphgym_nc.datasets, graphgym_nc.nn, graphgym_nc.reports.runs, graphgym_nc.results.sweep
import graphgym_nc.transforms, graphgym_nc.triangles.loader, graphgym_nc.wl
print([name for name in sys.modules if name.startswith(('torch_geometric.graphgym', 'ogb'))])
"""
    assert run(code, graphgym_nc.__path__[0]) == '[]'


def test_where_there_is_no_posix():
    code = """
import os, sys
import graphgym_nc
print('graphgym_nc.results.lock' in sys.modules, 'graphgym_nc.training' in sys.modules)
os.name = 'nt'
try:
    import graphgym_nc.training.run
except ImportError as error:
    print(error)
"""
    first, second = run(code).splitlines()
    assert first == 'False False'
    assert second.startswith('training needs Linux or macOS')
