import logging
import threading
import time

import pytest

from graphgym_nc.datasets.prepared import prepared_once


def test_one_prepares_and_the_others_wait(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    ready, seen = threading.Event(), []

    def load():
        with prepared_once(tmp_path / 'data', 'format', 1):
            if not seen:
                time.sleep(0.3)
                ready.set()
            seen.append(ready.is_set())

    threads = [threading.Thread(target=load) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 5
    assert caplog.text.count('Preparing the data') == 1


def test_failing_is_not_preparing(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with pytest.raises(OSError, match='no network'), prepared_once(tmp_path):
        raise OSError('no network')
    with prepared_once(tmp_path):
        pass
    with prepared_once(tmp_path, 'another'):
        pass
    with prepared_once(tmp_path):
        pass
    assert caplog.text.count('Preparing the data') == 3


def test_none_waits_once_all_is_there(tmp_path):
    with prepared_once(tmp_path):
        pass
    with prepared_once(tmp_path), prepared_once(tmp_path):
        pass


def test_data_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError

    monkeypatch.setattr('pathlib.Path.mkdir', refuse)
    with prepared_once(tmp_path / 'read-only'):
        pass
