"""The table of modules without a test file, in CONTRIBUTING."""

import re

import pytest

from tests.docs.pages import ROOT

PACKAGE = ROOT / 'graphgym_nc'


def rows() -> list[tuple[str, str]]:
    """Every row of the table: modules, and why they have no test file."""
    _, _, table = (ROOT / 'CONTRIBUTING.md').read_text().partition('## Modules without a test')
    lines = [line.split('|') for line in table.splitlines() if line.startswith('| `')]
    assert lines
    return [(modules, reason) for _, modules, reason, _ in lines]


def named() -> list[str]:
    return [name for modules, _ in rows() for name in re.findall(r'`([\w/]+\.py)`', modules)]


def without_test_file() -> set[str]:
    modules = {path.relative_to(PACKAGE) for path in PACKAGE.rglob('*.py')}
    return {
        str(module)
        for module in modules
        if module.name != '__init__.py'
        and not (ROOT / 'tests' / module.parent / f'test_{module.name.lstrip("_")}').is_file()
    }


def test_every_module_has_its_tests_or_a_reason() -> None:
    assert without_test_file() - {*named()} == set(), 'write tests, or a row of CONTRIBUTING.md'


def test_no_row_is_stale() -> None:
    stale = {*named()} - without_test_file()
    assert stale == set(), 'gone, or with tests of their own: remove them from CONTRIBUTING.md'
    assert len(named()) == len({*named()})


@pytest.mark.parametrize('reason', [reason for _, reason in rows() if 'tests/' in reason])
def test_tests_that_a_reason_names_are_there(reason: str) -> None:
    for path in re.findall(r'`(tests/[^`]*)`', reason):
        assert (ROOT / path).is_file()
