from pathlib import Path

import pytest

from graphgym_nc.utils.packaged import packaged, packaged_names

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(('kind', 'pattern'), [('configs', '*.yaml'), ('grids', '*.txt')])
def test_all_files_of_the_project_are_packaged(kind, pattern):
    files = {path.stem: path.read_text() for path in (TOP / kind).rglob(pattern)}
    assert {name: packaged(kind, name).read_text() for name in packaged_names(kind)} == files


def test_a_bare_name_is_that_of_the_package_unless_there_is_such_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert packaged('configs', 'nc_cluster').samefile(TOP / 'configs' / 'nc_cluster.yaml')
    Path('nc_cluster').touch()
    assert packaged('configs', 'nc_cluster') == Path('nc_cluster')


@pytest.mark.parametrize('name', ['./nc_cluster', 'nc_cluster.yaml', 'configs/nc_cluster.yaml'])
def test_any_other_name_is_a_path(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert packaged('configs', name) == Path(name)


def test_an_unknown_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no file 'smok', .* packaged grids: --list"):
        packaged('grids', 'smok')
