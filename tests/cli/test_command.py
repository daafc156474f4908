import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import graphgym_nc_command
from graphgym_nc_command import COMMANDS, main

TOP = Path(__file__).parents[2]


def without_torch(code):
    """Runs code in a Python that cannot load torch."""
    code = f"import sys; sys.modules['torch'] = None; {code}"
    env = {**os.environ, 'PYTHONPATH': str(TOP)}
    return subprocess.run(
        [sys.executable, '-c', code], env=env, capture_output=True, text=True, check=False
    )


def test_help_lists_all_commands_without_torch():
    shown = without_torch("import graphgym_nc_command; graphgym_nc_command.main(['--help'])")
    assert shown.returncode == 0
    for name, text in COMMANDS.items():
        assert f'  {name} ' in shown.stdout
        assert text in shown.stdout


def test_there_is_a_command_for_every_module():
    folder = Path(graphgym_nc_command.__file__).parent / 'graphgym_nc' / 'cli'
    modules = {path.stem for path in folder.glob('*.py')} - {'__init__', '__main__', 'parser'}
    assert {name.replace('-', '_') for name in COMMANDS} == modules


@pytest.mark.parametrize('name', COMMANDS)
def test_help_ends_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([name, '--help'])
    assert exit_.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f'usage: graphgym-nc {name} ')
    assert printed.splitlines()[-1].startswith(f'example: graphgym-nc {name} ')


def test_without_a_command_it_helps(capsys):
    assert main([]) == 2
    assert 'example: graphgym-nc train' in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(['--version'])
    assert capsys.readouterr().out.strip() == version('graphgym-nc')


def test_threads_sleep_soon_unless_the_user_says_otherwise(monkeypatch, capsys):
    monkeypatch.delenv('GOMP_SPINCOUNT', raising=False)
    with pytest.raises(SystemExit):
        main(['train', '--list'])
    assert os.environ['GOMP_SPINCOUNT'] == '10000'
    monkeypatch.setenv('GOMP_SPINCOUNT', '5')
    with pytest.raises(SystemExit):
        main(['train', '--list'])
    assert os.environ['GOMP_SPINCOUNT'] == '5'
    assert 'nc_cluster' in capsys.readouterr().out.split()


def test_packaged_configs_are_not_renamed(capsys):
    with pytest.raises(SystemExit):
        main(['train', '--cfg', 'nc_counting', '--mark_done'])
    assert '--mark_done would rename a file of the package' in capsys.readouterr().err


def test_scripts_call_commands():
    called = {
        line.split("'")[1]
        for path in (TOP / 'run').glob('*.py')
        for line in path.read_text().splitlines()
        if 'sys.argv[1:]' in line
    }
    assert called == set(COMMANDS) - {'wl'}
