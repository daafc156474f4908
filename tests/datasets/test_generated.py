import errno
import logging
import os
import threading
import time

import pytest

from graphgym_nc.datasets import TriangleCounting
from graphgym_nc.datasets.generated import prepared_alone


def test_one_at_a_time(tmp_path):
    within, most = [], []

    def load():
        with prepared_alone(tmp_path / 'data'), prepared_alone(tmp_path / 'data'):
            within.append(1)
            time.sleep(0.05)
            most.append(len(within))
            within.pop()

    threads = [threading.Thread(target=load) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5


def test_failing_lets_the_next_one_in(tmp_path):
    with pytest.raises(OSError, match='no network'), prepared_alone(tmp_path):
        raise OSError('no network')
    with prepared_alone(tmp_path):
        pass


@pytest.mark.parametrize('number', [errno.EACCES, errno.EPERM, errno.EROFS])
@pytest.mark.parametrize('place', ['pathlib.Path.mkdir', 'os.open'])
def test_data_that_cannot_be_written(tmp_path, monkeypatch, number, place):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(place, refuse)
    with prepared_alone(tmp_path / 'read-only'):
        pass


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr('pathlib.Path.mkdir', refuse)
    with pytest.raises(OSError, match='No space left'), prepared_alone(tmp_path / 'data'):
        pass


def test_an_error_of_ones_own_on_a_read_only_disk(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, 'read-only')

    monkeypatch.setattr('pathlib.Path.mkdir', refuse)
    with pytest.raises(ValueError, match='wrong'), prepared_alone(tmp_path / 'data'):
        raise ValueError('wrong')


def test_graphs_are_drawn_once_and_the_log_says_so(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    for _ in range(2):
        TriangleCounting(tmp_path, num_graphs=20)
    said = [message for message in caplog.messages if message.startswith('Drawing')]
    name = 'triangle_counting_generated_20_seed0'
    assert said == [f'Drawing {name}: 20 graphs (other processes wait)']
