import json

import pytest

from graphgym_nc.reports.grids import diverged, grid_scores, keep_grid, kept_ranks, read_grid
from graphgym_nc.reports.ranks import rank_analysis
from graphgym_nc.reports.runs import load_grid
from graphgym_nc.results.manifest import MANIFEST
from graphgym_nc.results.sweep import agg_sweep
from tests.run_files import write_run


@pytest.fixture
def grid(tmp_path):
    """Five settings with two layers each, of which the last run has failed."""
    folder = tmp_path / 'grid'
    entries = {}
    for setting in range(5):
        for layer, gain in (('a', 0.1), ('b', 0.0)):
            run = folder / f'nc_toy-layer={layer}-steps={setting},7' / '0'
            values = {'layer': layer, 'steps': [setting, 7]}
            entries[run.parent.name] = {'values': values, 'seeds': [0]}
            values = [(epoch, setting / 10 + gain) for epoch in range(3)]
            write_run(run, {'graphs': 20, 'commit': 'abc'}, train=values, val=values)
    (run / 'run.json').write_text(json.dumps({'status': 'FAILED'}))
    (folder / MANIFEST).write_text(json.dumps(entries))
    agg_sweep(folder)
    return folder


def test_ranks_of_what_is_kept_are_those_of_the_runs(grid, tmp_path):
    runs = load_grid(grid)
    keep_grid(grid, runs, tmp_path / 'kept' / 'design_toy.csv')
    scores, frame = read_grid(tmp_path / 'kept' / 'design_toy.csv')
    assert len(scores) == 9
    assert len(frame) == 10
    assert frame['commit'].tolist() == ['abc'] * 9 + ['']
    assert [r.averages for r in rank_analysis(scores)] == [
        r.averages for r in rank_analysis(grid_scores(grid, runs))
    ]
    text = kept_ranks(tmp_path / 'kept')
    assert (
        '### `design_toy`\n\n9 of 10 configurations have results. Folds or seeds of each: 1, '
        in text
    )
    assert 'epochs: 3, graphs: 20.' in text
    assert '1.00 ± 0.00 of 2' in text


def test_choices_are_kept_as_they_are(tmp_path):
    """Two blocks, of which one has no `drop`; texts that look like numbers, and lists."""
    chosen = [{'drop': 0.0, 'steps': [1, 2]}, {'drop': 0.5, 'steps': [1, 2]}]
    chosen += [{'steps': [3]}, {'steps': '4'}, {'steps': None}]
    grid, entries = tmp_path / 'grid', {}
    for i, values in enumerate(chosen):
        entries[f'nc_toy-i={i}'] = {'values': values, 'seeds': [0]}
        write_run(grid / f'nc_toy-i={i}' / '0', train=[(0, i / 10)], val=[(0, i / 10)])
    (grid / MANIFEST).write_text(json.dumps(entries))
    agg_sweep(grid)
    runs = load_grid(grid)
    keep_grid(grid, runs, tmp_path / 'design_toy.csv')
    kept, _ = read_grid(tmp_path / 'design_toy.csv')
    assert kept == grid_scores(grid, runs)
    assert [scored.values for scored in kept] == chosen
    drop = rank_analysis(kept)[0]
    assert (drop.ranks, drop.matched) == ({'0.0': [2], '0.5': [1]}, True)


def test_all_diverged(tmp_path):
    (tmp_path / 'design_toy.csv').write_text('choice.layer,score\n"""a""",-inf\n"""b""",-inf\n')
    text = kept_ranks(tmp_path)
    assert '0 of 2 configurations have results. 2 diverged' in text
    assert text.count('1.00 ± 0.00 of 2') == 2


def test_what_diverged_comes_last(grid, tmp_path):
    """The run that failed would have been the better one of its setting."""
    failed = grid / 'nc_toy-layer=a-steps=4,7' / '0' / 'run.json'
    reason = 'RunError: the train loss is not finite in epoch 0'
    failed.write_text(json.dumps({'status': 'FAILED', 'reason': reason}))
    other = grid / 'nc_toy-layer=b-steps=4,7' / '0' / 'run.json'
    other.write_text((grid / 'nc_toy-layer=b-steps=3,7' / '0' / 'run.json').read_text())
    agg_sweep(grid)
    runs = load_grid(grid)
    assert list(diverged(grid)) == ['nc_toy-layer=a-steps=4,7']
    ranking = rank_analysis(grid_scores(grid, runs))[0]
    assert ranking.ranks == {'a': [1, 1, 1, 1, 2], 'b': [2, 2, 2, 2, 1]}
    keep_grid(grid, runs, tmp_path / 'design_toy.csv')
    assert rank_analysis(read_grid(tmp_path / 'design_toy.csv')[0])[0].ranks == ranking.ranks
    assert '9 of 10 configurations' in kept_ranks(tmp_path)
    assert '1 diverged, and have the last rank' in kept_ranks(tmp_path)


def test_only_what_was_compared_with_all_else_equal_is_ranked(tmp_path):
    for name in ('nc_toy-layer=a-steps=1', 'nc_toy-layer=b-steps=2'):
        write_run(tmp_path / 'grid' / name / '0', train=[(0, 0.5)], val=[(0, 0.5)])
    agg_sweep(tmp_path / 'grid')
    keep_grid(tmp_path / 'grid', load_grid(tmp_path / 'grid'), tmp_path / 'design_toy.csv')
    text = kept_ranks(tmp_path)
    assert '2 of 2 configurations' in text
    assert 'layer' not in text


def test_nothing_is_kept(tmp_path):
    assert kept_ranks(tmp_path) == 'Nothing has been run yet.'
