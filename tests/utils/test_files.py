import os
import platform

import pytest

from graphgym_nc.utils.files import is_full, write_atomically


def test_text_and_bytes_replace_what_was_there(tmp_path):
    path = tmp_path / 'new' / 'file'
    write_atomically(path, 'first\n')
    assert path.read_text() == 'first\n'
    write_atomically(path, b'\xff')
    assert path.read_bytes() == b'\xff'
    assert [*path.parent.iterdir()] == [path]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / 'file'
    path.write_text('old')
    (tmp_path / f'file.{platform.node()}.{os.getpid()}.unfinished').symlink_to('/dev/full')
    with pytest.raises(OSError, match=f"no room for '{path}', which needs 1,234 bytes") as error:
        write_atomically(path, 1234 * 'x')
    assert is_full(error.value)
    assert path.read_text() == 'old'
    assert [*tmp_path.iterdir()] == [path]


def test_another_error_stays_as_it_is(tmp_path):
    (tmp_path / 'folder' / 'in the way').mkdir(parents=True)
    with pytest.raises(OSError, match='folder') as error:
        write_atomically(tmp_path / 'folder', 'text')
    assert not is_full(error.value)
    assert [*tmp_path.iterdir()] == [tmp_path / 'folder']
