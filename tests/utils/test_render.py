import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread

from graphgym_nc.utils.render import markdown, save_figure


def test_cells_stay_as_they_are():
    frame = pd.DataFrame({'run': ['gin', 'nc_toy'], 'test': ['0.5000', '0.6000 ± 0.0100']})
    assert markdown(frame).splitlines() == [
        '| run    | test            |',
        '|:-------|:----------------|',
        '| gin    | 0.5000          |',
        '| nc_toy | 0.6000 ± 0.0100 |',
    ]


def test_figures_in_a_new_folder(tmp_path):
    figure = Figure(figsize=(2, 1))
    figure.subplots()
    save_figure(figure, tmp_path / 'plots' / 'a.png')
    assert imread(tmp_path / 'plots' / 'a.png').shape[:2] == (150, 300)
