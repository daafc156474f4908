"""What a model costs at inference."""

import json
import time
from pathlib import Path
from typing import Any

import torch
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.benchmark.measure import FlopCounter
from graphgym_nc.results.record import environment
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.run import load_config, parse_args, prepare_machine
from graphgym_nc.training.train import Module, create_model, device
from graphgym_nc.utils.files import write_atomically
from graphgym_nc.utils.split_names import SPLITS


def measure_folder(folder: Path) -> str:
    """Measures the model of a folder of results, and writes :obj:`cost.json` there.

    Returns:
        A line that says what was found.
    """
    load_config(parse_args(['--cfg', str(folder / 'config.yaml')]))
    prepare_machine()
    datamodule = DataModule()
    result = cost(create_model(), datamodule)
    write_atomically(folder / 'cost.json', json.dumps(result, indent=2) + '\n')
    return (
        f'{folder}: {result["macs_per_graph"] / 1e6:.4g} MMACs and '
        f'{1e3 * result["seconds"] / result["graphs"]:.3f} ms per graph '
        f'({result["graphs"]} graphs of {result["split"]})'
    )


def cost(model: Module, datamodule: DataModule) -> dict[str, Any]:
    """Goes through the test split, or that of validation if there is none.

    Args:
        model: The model; its weights do not matter.
        datamodule: The data.

    Returns:
        The :obj:`split`, its number of :obj:`graphs`, the :obj:`seconds` that
        inference takes on all of them (batches made and triangles found
        included), and the mean :obj:`macs_per_graph`: multiply-accumulate
        operations of all matrix products, with a row for every edge on a triangle.
        The count is of PyTorch's operations: only the kernels leave out edges that
        are equal. Sums over neighbours and triangles are no products; each term of
        them would be one addition per channel.
    """
    index = len(datamodule.loaders) - 1
    model = model.to(device()).eval()
    loader = datamodule.ordered_loader(index)
    with torch.no_grad():
        _forward(model, next(iter(loader)))  # what is done once, and never again
        start, graphs = time.perf_counter(), 0
        for batch in loader:
            out = _forward(model, batch)
            graphs += batch.num_graphs
        out.sum().item()  # waits for the device
        seconds = time.perf_counter() - start
        with FlopCounter() as counter:
            for batch in loader:
                _forward(model, batch)
    return {
        'split': SPLITS[index],
        'graphs': graphs,
        'seconds': round(seconds, 4),
        'macs_per_graph': counter.total / 2 / graphs,
        'parameters': params_count(model),
        'machine': environment()['machine'],
    }


def _forward(model: Module, batch: Any) -> torch.Tensor:
    batch = batch.to(model.device)
    batch.split = 'test'
    pred, _ = model(batch)
    return pred
