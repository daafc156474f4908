import json
import os
import re

from graphgym_nc.results.record import RunRecord, environment


def test_life_of_a_record(tmp_path):
    record = RunRecord(tmp_path)
    assert record.status is None
    record.start(seed=3)
    assert RunRecord(tmp_path).status == 'RUNNING'
    record.note(metric='mae')
    record.failed('no luck')
    again = RunRecord(tmp_path)
    assert (again.status, again.facts['reason']) == ('FAILED', 'no luck')
    again.start(seed=3)
    again.done()
    facts = json.loads((tmp_path / 'run.json').read_text())
    assert (facts['status'], facts['reason'], facts['metric']) == ('DONE', None, 'mae')
    assert facts['started'] == record.facts['started']
    assert len(facts['resumed']) == 1


def test_environment():
    facts = environment()
    assert facts['versions']['torch_geometric']
    assert facts['machine']['cpus'] == os.cpu_count()
    assert facts['commit'] is None or re.fullmatch(r'[0-9a-f]{40}(-dirty)?', facts['commit'])
    json.dumps(facts)
