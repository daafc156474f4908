import networkx as nx
import pytest
import torch

from graphgym_nc.utils.render import save_figure
from graphgym_nc.wl import color_refinement
from graphgym_nc.wl.brec_results import Score
from graphgym_nc.wl.expressiveness import add_trained, expressiveness, methods
from graphgym_nc.wl.plot import node_colors, plot_expressiveness, plot_pair
from tests.wl.test_expressiveness import with_brec


@pytest.mark.parametrize('algorithm', ['1-wl', 'nc-1-wl', 'eb-1-wl', '3-wl'])
def test_plot_pair(tmp_path, algorithm):
    graphs = [nx.lollipop_graph(3, 1), nx.star_graph(3)]
    colors = color_refinement(graphs, algorithm)
    figure = plot_pair(graphs, colors, ['left', 'right'], 'title')
    assert figure.get_suptitle() == 'title'
    assert [ax.get_title() for ax in figure.axes] == ['left', 'right']
    shades = []
    for ax, color in zip(figure.axes, colors, strict=True):
        (points,) = [item for item in ax.collections if len(item.get_offsets()) == 4]
        drawn = [tuple(shade) for shade in points.get_facecolor()]
        assert len(set(zip(drawn, node_colors(color).tolist(), strict=True))) == len(set(drawn))
        shades += drawn
    (legend,) = figure.legends
    assert len(legend.get_texts()) == len(set(shades))
    save_figure(figure, tmp_path / 'pair.png')
    assert (tmp_path / 'pair.png').stat().st_size > 0


def test_legend_counts_the_nodes_of_both_graphs():
    graphs = [nx.star_graph(3), nx.star_graph(3)]
    figure = plot_pair(graphs, color_refinement(graphs), ['', ''], '')
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ['colour 0 (3 : 3)', 'colour 1 (1 : 1)']


def test_plot_pair_of_many_colors_and_parts():
    graphs = [nx.disjoint_union_all([nx.path_graph(n) for n in range(1, 12)]), nx.empty_graph(0)]
    figure = plot_pair(graphs, color_refinement(graphs), ['', ''], '')
    assert not figure.legends


def test_node_colors_of_triples():
    color = torch.arange(27).view(3, 3, 3)
    assert node_colors(color).tolist() == [0, 13, 26]
    assert node_colors(torch.tensor([4, 5])).tolist() == [4, 5]


def test_plot_expressiveness():
    table = expressiveness(methods()[:2])
    (ax,) = plot_expressiveness(table).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ['1-WL', 'NC-1-WL']
    assert [bar.get_width() for bar in ax.patches] == table.iloc[:, 1].tolist()

    table = add_trained(with_brec(table), 'nc', {'basic': Score(60, 52, 0)})
    _, right = plot_expressiveness(table).axes
    cells = [text.get_text() for text in right.texts]
    assert cells == ['1'] * 7 + ['7'] + ['1'] * 7 + ['7'] + ['52'] + ['-'] * 7
