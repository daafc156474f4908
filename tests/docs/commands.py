"""Commands in the documentation: what a shell would make of them, and what argparse does."""

import argparse
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks

#: Commands of others, and what is in front of ours.
OTHERS = {'.', 'pip', '.venv/bin/pip', '.venv/bin/pytest'}


class _Parsed(Exception):  # noqa: N818
    """The arguments are fine: carries them, and stops the command."""


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
        pytest.importorskip('graphgym_nc.cli.__main__', reason='the command is not there yet')
        target, argv = 'graphgym_nc.cli', words[1:]
    elif words[0] in ('bash', 'python') and (ROOT / words[1]).is_file():
        target, argv = str(ROOT / words[1]), words[2:]
        if not argv:
            return None
        target = target.replace('run_batch.sh', 'run_batch.py')
    else:
        raise ValueError(f'no such command: {shlex.join(words)}')
    for name in ('parse_args', 'parse_intermixed_args'):
        _stop_after(name, monkeypatch)
    monkeypatch.setattr(sys, 'argv', [target, *argv])
    monkeypatch.setenv('GOMP_SPINCOUNT', '10000')
    run = runpy.run_path if target.endswith('.py') else runpy.run_module
    with pytest.raises(_Parsed) as caught:
        run(target, run_name='__main__')  # type: ignore[operator]
    return caught.value.args[0]  # type: ignore[no-any-return]


def _stop_after(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(argparse.ArgumentParser, name)

    def stop(self: argparse.ArgumentParser, *args: object) -> argparse.Namespace:
        parsed = original(self, *args)
        if hasattr(parsed, 'command'):  # the name alone: its own arguments are parsed next
            return parsed  # type: ignore[no-any-return]
        raise _Parsed(parsed)

    monkeypatch.setattr(argparse.ArgumentParser, name, stop)
