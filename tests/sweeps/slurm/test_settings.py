import shlex
from pathlib import Path

import pytest
import yaml

from graphgym_nc.cli.sweep import main
from graphgym_nc.sweeps.errors import GridError
from graphgym_nc.sweeps.slurm.settings import SlurmSettings, check_path, minutes
from graphgym_nc.sweeps.slurm.submit import job_name

HOSTILE = [
    '$(touch pwned)', '`touch pwned`', 'a; touch pwned', 'a b', "a'b", 'a"b',
    'a\n#SBATCH --wrap=x', 'a\ntouch pwned', '-x', '--wrap=x', '', 'a\\', 'a&b', 'a|b', 'a>b',
    'ä\x00', '%j', '#', True,
]  # fmt: skip
NAMES = (
    'partition', 'account', 'qos', 'reservation', 'exclude', 'nodelist', 'gres', 'mem',
    'report_partition',
)  # fmt: skip


@pytest.mark.parametrize('value', HOSTILE, ids=repr)
def test_no_setting_reaches_a_shell(value):
    for name in NAMES:
        with pytest.raises(GridError, match=f"the SLURM setting '{name}' is"):
            SlurmSettings.load(None, {name: value})
    for name in ('time', 'gpus', 'cpus', 'array_parallelism', 'timeouts'):
        with pytest.raises(GridError, match=f"the SLURM setting '{name}' is"):
            SlurmSettings.load(None, {name: value})
    with pytest.raises(GridError, match="the SLURM setting 'modules' is"):
        SlurmSettings.load(None, {'modules': [value]})


@pytest.mark.parametrize('value', ['a b', '$(x)', "x'", 'x\ny', '`x`', 'x;y', '&', '-x', 'x>y'])
def test_constraints_may_be_expressions_but_no_commands(value):
    assert SlurmSettings.load(None, {'constraint': '[a100*2&(ib|eth)]'})
    with pytest.raises(GridError, match='constraint'):
        SlurmSettings.load(None, {'constraint': value})


@pytest.mark.parametrize('name', ["it's", 'a"b', 'a\nb', '$HOME', '`x`', 'a;b', '%j', '#', '*'])
def test_paths_that_a_script_could_mistake(name):
    with pytest.raises(GridError, match="choose another 'out_dir'"):
        check_path(Path('/results') / name)
    good = Path('/home/jörg/my results/v1.0,x=1+2~a')
    assert check_path(good) == good
    assert shlex.quote(job_name(Path('/results') / name)) == job_name(Path('/results') / name)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [(90, 90), ('90', 90), ('1:30', 2), ('2:00:00', 120), ('1-0', 1440), ('2-12:30', 3630),
     ('0-0:0:1', 1)],
)  # fmt: skip
def test_times(text, expected, tmp_path):
    assert minutes(text) == expected
    (tmp_path / 'site.yaml').write_text(f'time: {text}')
    assert SlurmSettings.load(tmp_path / 'site.yaml', {}).time == expected


def test_the_command_line_goes_over_the_site(tmp_path):
    site = tmp_path / 'site.yaml'
    settings = {
        'partition': 'long', 'account': 'abc-12', 'time': '1-0', 'mem': '16G',
        'modules': ['cuda/12.4'], 'reservation': 'course',
    }  # fmt: skip
    site.write_text(yaml.safe_dump(settings))
    found = SlurmSettings.load(site, {'partition': 'short', 'gpus': '2', 'qos': None})
    parameters = found.tasks(devices=2, num_nodes=3)
    assert parameters['partition'] == 'short'
    assert parameters['time'] == 1440
    assert parameters['gpus_per_node'] == parameters['ntasks_per_node'] == 2
    assert parameters['nodes'] == 3
    assert parameters['signal_delay_s'] == 90
    short = SlurmSettings.load(site, {'time': 2}).tasks(1, 1)
    assert short['signal_delay_s'] == 30
    assert parameters['setup'] == ['module load cuda/12.4']
    assert parameters['additional_parameters'] == {'requeue': True, 'reservation': 'course'}
    assert 'gpus_per_node' not in found.report
    assert found.report['nodes'] == 1
    with pytest.raises(GridError, match=r"'gpus' is 2, but the configurations have 'devices: 1'"):
        found.tasks(devices=1, num_nodes=1)


@pytest.mark.parametrize(
    ('text', 'message'),
    [('partitoin: x', r"unknown setting\(s\) \['partitoin'\]"), ('[1', 'not valid YAML'),
     ('- a', 'unknown setting'), ('modules: cuda', "'modules' is 'cuda'"),
     ('setup: [rm -rf /]', 'unknown setting')],
)  # fmt: skip
def test_bad_site_files(tmp_path, text, message):
    site = tmp_path / 'site.yaml'
    with pytest.raises(GridError, match='no site file'):
        SlurmSettings.load(site, {})
    site.write_text(text)
    with pytest.raises(GridError, match=message):
        SlurmSettings.load(site, {})


def test_a_hostile_name_of_a_configuration(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    root = Path(__file__).parents[3]
    config = tmp_path / '$(touch pwned).yaml'
    config.write_text((root / 'configs' / 'nc_counting.yaml').read_text())
    (tmp_path / 'toy.txt').write_text('gnn.layers_mp l [1]\n')
    assert main(['toy.txt', '--launcher', 'slurm', '--config', str(config)]) == 2
    assert 'rename grid or configuration' in capsys.readouterr().err
    out_dir = 'x\n#SBATCH --wrap=y'
    options = [
        'toy.txt',
        '--launcher',
        'slurm',
        '--config',
        str(root / 'configs/nc_counting.yaml'),
    ]
    assert main([*options, 'out_dir', out_dir]) == 2
    assert main([*options, '--partition', 'a\ntouch pwned']) == 2
    assert {path.name for path in tmp_path.iterdir()} == {config.name, 'toy.txt'}
