"""TUDatasets, with features for all of them."""

import logging
from pathlib import Path
from pickle import UnpicklingError
from zipfile import BadZipFile

from torch_geometric.datasets import TUDataset
from torch_geometric.transforms import OneHotDegree
from torch_geometric.utils import degree

from graphgym_nc.datasets.download import unpacked
from graphgym_nc.datasets.generated import prepared_alone
from graphgym_nc.utils.files import is_full


def load_tu(root: str | Path, name: str, timeout: float = 5.0) -> TUDataset:
    """Loads one of the `TUDatasets <https://chrsmrrs.github.io/datasets>`_ from
    disk or the network.

    Features are the one-hot labels of the nodes or, where there are none, their
    one-hot degrees, made anew at every access: COLLAB's would take more memory
    than its edges.

    Args:
        root: Where data sets are kept; this one is in a folder of its name.
        name: The name, such as :obj:`"IMDB-BINARY"`.
        timeout: Seconds to wait for a server that does not answer.

    Raises:
        FileNotFoundError: If it is neither on disk nor to be had.
    """
    folder = Path(root) / name
    with prepared_alone(folder):
        if not (folder / 'raw' / f'{name}_A.txt').exists():
            _fetch(folder, timeout)
        try:
            dataset = TUDataset(str(root), name)
        except (RuntimeError, EOFError, UnpicklingError) as error:
            logging.warning("'%s' is damaged (%s): reading the raw files again", folder, error)
            dataset = TUDataset(str(root), name, force_reload=True)
    if dataset._data.x is None:
        dataset.transform = OneHotDegree(_max_degree(dataset), cat=False)
    dataset.source = f'TUDatasets, {dataset.transform or "one-hot labels"}'
    return dataset


def _fetch(folder: Path, timeout: float) -> None:
    raw, url = folder / 'raw', f'{TUDataset.url}/{folder.name}.zip'
    try:
        with unpacked(url, folder, timeout) as content:
            (content / folder.name).replace(raw)
    except (OSError, BadZipFile) as error:
        if is_full(error):
            raise
        raise FileNotFoundError(
            f"'{raw / folder.name}_A.txt' does not exist, and {url} cannot be had ({error}); put "
            f"the files of that archive ('{folder.name}_A.txt', '{folder.name}_graph_indicator."
            f"txt', ...) into '{raw}'"
        ) from error


def _max_degree(dataset: TUDataset) -> int:
    return max(
        int(degree(data.edge_index[0], data.num_nodes).max()) for data in dataset if data.num_nodes
    )
