import re

from tests.docs.pages import ROOT


def test_every_module_has_its_tests_or_a_reason() -> None:
    package = ROOT / 'graphgym_nc'
    modules = {path.relative_to(package) for path in package.rglob('*.py')}
    without = {
        str(module)
        for module in modules
        if module.name != '__init__.py'
        and not (ROOT / 'tests' / module.parent / f'test_{module.name.lstrip("_")}').is_file()
    }
    _, _, table = (ROOT / 'CONTRIBUTING.md').read_text().partition('## Modules without a test')
    named = {
        name
        for row in table.splitlines()
        if row.startswith('| `')
        for name in re.findall(r'`([\w/]+\.py)`', row.split(' | ')[0])
    }
    assert named == without
