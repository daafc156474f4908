import json

import pytest
import yaml

from graphgym_nc.cli.cost import main
from graphgym_nc.utils.packaged import packaged


@pytest.mark.parametrize('by_name', [True, False])
def test_a_sweep_is_measured(cfg, tmp_path, monkeypatch, by_name):
    """By its name, or by all that is in it: tables and the manifest are there, too."""
    monkeypatch.chdir(tmp_path)
    sweep = tmp_path / 'grid'
    names = ['gin_counting', 'nc_counting']
    for name in names:
        config = yaml.safe_load(packaged('configs', name).read_text())
        config['nc'] = {**config.get('nc', {}), 'counting_graphs': 40}
        (sweep / name).mkdir(parents=True)
        (sweep / name / 'config.yaml').write_text(yaml.safe_dump({**config, 'num_threads': 1}))
    (sweep / 'agg').mkdir()
    (sweep / 'grid.json').write_text('{}')
    main([str(sweep)] if by_name else [str(path) for path in sorted(sweep.iterdir())])
    costs = [json.loads((sweep / name / 'cost.json').read_text()) for name in names]
    assert 0 < costs[0]['macs_per_graph'] < costs[1]['macs_per_graph']
    assert not (sweep / 'agg' / 'cost.json').exists()


def test_nothing_to_measure(tmp_path):
    with pytest.raises(SystemExit, match=f"no config.yaml in '{tmp_path}', 'nowhere'"):
        main([str(tmp_path), 'nowhere'])
