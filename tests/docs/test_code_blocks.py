"""The code in the documentation runs as it stands."""

import argparse
import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from yacs.config import CfgNode

from graphgym_nc.sweeps.slurm.settings import SlurmSettings
from graphgym_nc.training.run import load_config
from graphgym_nc.utils.packaged import packaged
from tests.docs.commands import commands, parse, skip_without_command
from tests.docs.pages import DOCS, PAGES, ROOT, blocks, pages_with


def ids(page: Path) -> str:
    return page.name


def write_files(page: Path, folder: Path) -> set[str]:
    files = {block.file: block.text for block in blocks(page, 'python', 'yaml') if block.file}
    for name, text in files.items():
        (folder / name).write_text(text)
    return set(files)


def run_checked(source: str, names: dict[str, object]) -> None:
    """Runs code; the comment behind an expression is its value."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        code = ast.unparse(node)
        _, _, comment = lines[(node.end_lineno or 0) - 1].partition('  # ')
        if isinstance(node, ast.Expr) and comment:
            assert repr(eval(code, names)) == comment, code
        else:
            exec(code, names)


@pytest.mark.parametrize('page', pages_with('python'), ids=ids)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict[str, object] = {}
    for block in blocks(page, 'python'):
        if block.file is None:
            run_checked(block.text, names)


def test_a_wrong_comment_is_found() -> None:
    with pytest.raises(AssertionError, match='1 \\+ 1'):
        run_checked('1 + 1  # 3', {})


@pytest.mark.parametrize('page', pages_with('yaml'), ids=ids)
def test_yaml(page: Path, tmp_path: Path, cfg: CfgNode) -> None:
    for block in blocks(page, 'yaml'):
        if block.file == 'site.yaml':
            write_files(page, tmp_path)
            assert SlurmSettings.load(tmp_path / 'site.yaml', {}).partition == 'main'
        else:
            cfg.merge_from_other_cfg(CfgNode(yaml.safe_load(block.text)))


@pytest.mark.parametrize('page', pages_with('bash'), ids=ids)
def test_commands(
    page: Path, tmp_path: Path, cfg: CfgNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_files = write_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    results = set()  # of what the page has trained so far
    for words in commands(page):
        if own_files & set(words):
            continue  # see test_programs
        with monkeypatch.context() as context:
            args = parse(words, context)
        if getattr(args, 'cfg_file', None):
            check_config(args)
            results.add(Path(args.cfg_file).stem)
        if getattr(args, 'grid', None):
            grid = Path(args.grid).stem
            assert (ROOT / 'grids' / f'{grid}.txt').is_file(), words
            results |= {f'grid_{grid}', *(f'{config.stem}_grid_{grid}' for config in CONFIGS)}
        for word in words:
            if match := re.match(r'results/(\w+)', word):
                assert match[1] in results, f'{words}: nothing on this page trains {match[1]}'


CONFIGS = sorted((ROOT / 'configs').rglob('*.yaml'))


def check_config(args: argparse.Namespace) -> None:
    """Makes sure that the file is there, and knows the keys of the command."""
    name = Path(args.cfg_file)
    args.cfg_file = str(packaged('configs', name.stem))
    threads = torch.get_num_threads()
    load_config(args)
    torch.set_num_threads(threads)


@pytest.mark.parametrize('words', ['graphgym run', 'python run/no.py', 'bash run/no.sh'])
def test_a_command_that_does_not_exist_is_found(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match='no such command'):
        parse(words.split(), monkeypatch)


def test_an_option_that_does_not_exist_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        parse(['python', 'run/agg_batch.py', '--dir', 'results', '--no-option'], monkeypatch)


def test_programs(tmp_path: Path) -> None:
    """Programs that a page shows run, with the configurations that it shows."""
    skip_without_command()
    page = DOCS / 'graphgym.md'
    files = write_files(page, tmp_path)
    programs = [words for words in commands(page) if words[0] == 'python' and words[1] in files]
    assert len(programs) == 2
    for words in programs:
        run([sys.executable, *words[1:], 'accelerator', 'cpu', 'num_threads', '1'], tmp_path)
    assert (tmp_path / 'results' / 'my_config' / 'agg' / 'test' / 'best.json').is_file()


@pytest.mark.parametrize('page', pages_with('console'), ids=ids)
def test_console(page: Path, tmp_path: Path) -> None:
    """A console prints what the page shows."""
    skip_without_command()
    ours = f'{shlex.quote(sys.executable)} -m graphgym_nc.cli'
    for block in blocks(page, 'console'):
        for part in block.text.removeprefix('$ ').split('\n$ '):
            command, _, output = part.partition('\n')
            command = command.replace('graphgym-nc', ours)
            assert run(['bash', '-c', command], tmp_path).strip() == output.strip()


def run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_readme_is_short() -> None:
    assert len((ROOT / 'README.md').read_text().splitlines()) <= 130


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_languages_are_known(page: Path) -> None:
    """A block in another language would go unseen by the tests above."""
    languages = set(re.findall(r'^```([^\s`]+)$', page.read_text(), re.MULTILINE))
    assert languages <= {'bash', 'console', 'python', 'text', 'yaml', '{eval-rst}', '{toctree}'}
