import os
import platform
import resource

import pytest

from graphgym_nc.utils.files import is_full, save_atomically, write_atomically


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
    with pytest.raises(OSError, match=f"left on device: '{path}' needs 1,234 bytes") as error:
        write_atomically(path, 1234 * 'x')
    assert is_full(error.value)
    assert path.read_text() == 'old'
    assert [*tmp_path.iterdir()] == [path]


def test_a_limit_of_the_user_is_named(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=f"File too large: '{tmp_path}/file' needs ") as error:
            save_atomically(tmp_path / 'file', 1000 * 'x')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert is_full(error.value)
    assert not [*tmp_path.iterdir()]


def test_another_error_stays_as_it_is(tmp_path):
    (tmp_path / 'folder' / 'in the way').mkdir(parents=True)
    with pytest.raises(OSError, match='folder') as error:
        write_atomically(tmp_path / 'folder', 'text')
    assert not is_full(error.value)
    assert [*tmp_path.iterdir()] == [tmp_path / 'folder']
