import logging
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


def test_data_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError

    monkeypatch.setattr('pathlib.Path.mkdir', refuse)
    with prepared_alone(tmp_path / 'read-only'):
        pass


def test_graphs_are_drawn_once_and_the_log_says_so(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    for _ in range(2):
        TriangleCounting(tmp_path, num_graphs=20)
    said = [message for message in caplog.messages if message.startswith('Drawing')]
    name = 'triangle_counting_generated_20_seed0'
    assert said == [f'Drawing {name}: 20 graphs (other processes wait)']
