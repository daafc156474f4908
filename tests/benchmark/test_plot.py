import pytest

from graphgym_nc.benchmark import plot


@pytest.fixture
def axes(monkeypatch):
    """The axes of what is drawn."""
    kept = []
    monkeypatch.setattr(plot, 'save_figure', lambda figure, path: kept.extend(figure.axes))
    return kept


def heights(axis):
    return {bars.get_label(): [bar.get_height() for bar in bars] for bars in axis.containers}


def test_ratios(axes, tmp_path):
    rows = [
        {'workload': 'a', 'graphs': 'real', 'messages': 3, 'GINConv ms': 7.0, 'NC-GNN': 2.0},
        {
            'workload': 'b',
            'graphs': 'real',
            'messages': 4,
            'GINConv ms': 9.0,
            'NC-GNN': 3.0,
            'x': 5.0,
        },
    ]
    plot.plot_ratios(rows, 'time', tmp_path / 'a.png')
    assert heights(axes[0])['NC-GNN'] == [2.0, 3.0]
    assert heights(axes[0])['x'][1] == 5.0
    assert len(heights(axes[0])) == 2
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ['a', 'b']


def test_listing(axes, tmp_path):
    rows = [{'workload': 'a', 'triangles': 3, 'list, ms': 2.0, 'share of 4 layers, %': 5.0}]
    plot.plot_listing(rows, tmp_path / 'a.png')
    assert heights(axes[0]) == {'list, ms': [2.0]}
