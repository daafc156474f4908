import pytest
from matplotlib.figure import Figure


@pytest.fixture
def figures(monkeypatch):
    """All figures that are written, to look into what they hold."""
    written = []
    savefig = Figure.savefig

    def keep(figure, *args, **kwargs):
        written.append(figure)
        savefig(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, 'savefig', keep)
    return written
