"""Commands in the documentation: what a shell would make of them, and what argparse does."""

import argparse
import importlib.util
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, blocks

#: Commands of others, and what is in front of ours.
OTHERS = {
    '.', '.venv/bin/pip', '.venv/bin/pre-commit', '.venv/bin/pytest', 'pip', 'python3',
    'sphinx-build',
}  # fmt: skip


class _Parsed(Exception):
    """The arguments are fine: carries them, and stops the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        super().__init__(arguments)
        self.arguments = arguments


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command in the bash blocks of a page."""
    for block in blocks(page, 'bash'):
        for line in block.text.replace('\\\n', ' ').splitlines():
            for command in line.split('&&'):
                words = shlex.split(command, comments=True)
                if words[:1] == ['srun']:
                    words = words[words.index('graphgym-nc') :]
                if words:
                    yield words


def parse(words: list[str], monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace | None:
    """The arguments of one of our commands, which is not run; nothing for a command of others
    or a script without arguments.

    Raises:
        SystemExit: If the command does not take them.
        ValueError: If there is no such command.
    """
    if words[0] in OTHERS:
        return None
    if words[0] == 'graphgym-nc':
        skip_without_command()
        target, argv = 'graphgym_nc.cli', words[1:]
    elif words[0] in ('bash', 'python') and (ROOT / words[1]).is_file():
        target, argv = str(ROOT / words[1]), words[2:]
        if not argv:
            return None
        target = target.replace('run_batch.sh', 'run_batch.py')
    else:
        raise ValueError(f'no such command: {shlex.join(words)}')
    _stop_after_parsing(monkeypatch)
    monkeypatch.setattr(sys, 'argv', [target, *argv])
    monkeypatch.setenv('GOMP_SPINCOUNT', '10000')
    run: Any = runpy.run_path if target.endswith('.py') else runpy.run_module
    try:
        run(target, run_name='__main__')
    except _Parsed as parsed:
        return parsed.arguments
    except SystemExit as stopped:
        if stopped.code == 0:  # such as --list
            return None
        raise
    raise AssertionError(f'{shlex.join(words)} has not parsed its arguments')


def skip_without_command() -> None:
    if importlib.util.find_spec('graphgym_nc.cli.__main__') is None:
        pytest.skip('the command is not there yet')


def _stop_after_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 0

    def stopping(parse: Callable[..., Any]) -> Callable[..., Any]:
        def stop(self: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                parsed = parse(self, *args, **kwargs)
            finally:
                depth -= 1
            arguments, opts = parsed if isinstance(parsed, tuple) else (parsed, [])
            if depth > 0 or hasattr(arguments, 'command'):  # its own arguments are parsed next
                return parsed
            if any(word.startswith('-') for word in opts) or len(opts) % 2 == 1:
                self.error(f'not pairs of keys and values: {opts}')
            raise _Parsed(arguments)

        return stop

    for name in ('parse_args', 'parse_known_args', 'parse_intermixed_args'):
        original = getattr(argparse.ArgumentParser, name)
        monkeypatch.setattr(argparse.ArgumentParser, name, stopping(original))
