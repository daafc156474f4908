import dataclasses
import json

import pytest

from graphgym_nc.wl.brec_results import ResultLog, Score, evaluate, read_scores
from graphgym_nc.wl.brec_training import PairResult, Protocol

PROTOCOL = Protocol()
BREC = {'basic': [('Bw', 'BW'), ('DQc', 'Bw')], 'cfi': [('EhEG', 'EwCW')]}
KEYS = [('basic', 0), ('basic', 1), ('cfi', 0)]

PARTED = PairResult(1e9, 0.1, 0.1, 5)
NOT_PARTED = PairResult(0.2, 0.1, 1.0, 20)
UNRELIABLE = PairResult(1e9, 1e9, 0.1, 5)


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'new' / 'folder' / 'results.jsonl'


def fake(*results):
    """Training that is done at once, and notes what it was called for."""
    calls, left = [], list(results)

    def train(pair, protocol, key):
        calls.append((pair, key))
        return left.pop(0)

    return train, calls


def test_a_stopped_run_goes_on_where_it_was(path):
    train, calls = fake(PARTED, NOT_PARTED)
    run = evaluate(BREC, ResultLog(path, PROTOCOL, BREC), KEYS, train)
    assert [next(run), next(run)] == KEYS[:2]
    run.close()
    assert calls == [(('Bw', 'BW'), (0, 0)), (('DQc', 'Bw'), (0, 1))]

    train, calls = fake(UNRELIABLE)
    log = ResultLog(path, PROTOCOL, BREC)
    assert list(evaluate(BREC, log, KEYS, train)) == KEYS
    assert calls == [(('EhEG', 'EwCW'), (4, 0))]
    assert log.results == dict(zip(KEYS, [PARTED, NOT_PARTED, UNRELIABLE], strict=True))
    scores = {'basic': Score(2, 1, 0), 'cfi': Score(1, 0, 1)}
    assert log.scores() == scores
    assert read_scores(path) == (PROTOCOL, scores)


def test_the_first_line_says_what_was_run(path):
    ResultLog(path, PROTOCOL, BREC)
    header = json.loads(path.read_text())
    assert header['protocol'] == dataclasses.asdict(PROTOCOL)
    assert set(header['versions']) == {'graphgym-nc', 'torch', 'torch_geometric'}


@pytest.mark.parametrize(
    ('protocol', 'brec'),
    [(Protocol(seed=1), BREC), (PROTOCOL, {**BREC, 'cfi': [('EwCW', 'EhEG')]})],
)
def test_other_settings_or_data_are_refused(path, protocol, brec):
    ResultLog(path, PROTOCOL, BREC)
    before = path.read_bytes()
    with pytest.raises(ValueError, match='other settings or data'):
        ResultLog(path, protocol, brec)
    assert path.read_bytes() == before


@pytest.mark.parametrize('content', ['', 'no JSON\n', '[]\n', '{}\n'])
def test_foreign_files_are_refused(path, content):
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(ValueError, match='holds no results of BREC'):
        ResultLog(path, PROTOCOL, BREC)
    with pytest.raises(ValueError, match='holds no results of BREC'):
        read_scores(path)
