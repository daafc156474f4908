"""Tables as Markdown, and figures as files."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown, with every cell as it is."""
    return str(frame.to_markdown(index=False, disable_numparse=True))


def save_figure(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Writes a figure to a file, whose suffix gives the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
