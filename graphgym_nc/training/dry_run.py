"""Tries a configuration on one batch, without writing results."""

from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.graphgym.config import cfg
from torch_geometric.graphgym.logger import infer_task
from torch_geometric.graphgym.loss import compute_loss
from torch_geometric.graphgym.utils.comp_budget import params_count

from graphgym_nc.graphgym.layer import kernels_of
from graphgym_nc.graphgym.validation import best_metric
from graphgym_nc.training.data import DataModule
from graphgym_nc.training.statistics import Metrics
from graphgym_nc.training.train import Module, device
from graphgym_nc.triangles.incidence import TriangleIncidence


def check(model: Module, datamodule: DataModule) -> dict[str, Any]:
    """Runs one training batch forward and backward, and computes the metrics.

    Returns:
        What there is to know about the run, by name.
    """
    metric, minimise = best_metric(cfg)
    model = model.to(device()).train()
    batch = next(iter(datamodule.train_dataloader())).to(model.device)
    with kernels_of(cfg.nc.kernel):
        incidence = TriangleIncidence.from_data(batch)
    report = {
        'data source': datamodule.source,
        'batches per epoch': ' / '.join(map(str, datamodule.num_batches)),
        'input and output dimensions': f'{cfg.share.dim_in}, {cfg.share.dim_out}',
        'parameters': f'{params_count(model):,}',
        'first batch': _describe(batch),
        'triangles': f'{incidence.num_messages // 3:,}, on {incidence.num_edges:,} edges '
        f'({incidence.num_messages / max(batch.num_nodes, 1):.1f} messages per node)',
    }
    loss, saved = _forward_backward(model, batch)
    state = 4 * sum(p.numel() * p.element_size() for p in model.parameters())
    return {
        **report,
        'metric': f'{metric}, {"less" if minimise else "more"} is better',
        'prediction': ' x '.join(map(str, saved.pop('shape'))),
        'loss': f'{loss:.4f}',
        'memory': f'{_megabytes(state)} MB for parameters, gradients and Adam, '
        f'{_megabytes(saved["bytes"])} MB kept for the backward pass of this batch',
    }


def _forward_backward(model: Module, batch: Data) -> tuple[float, dict[str, Any]]:
    sizes: dict[int, int] = {}
    known = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    batch.split = 'train'
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        pred, true = model(batch)
        loss, score = compute_loss(pred, true)
    loss.backward()
    if cfg.custom_metrics:  # GraphGym's own may need more than a batch, such as all classes
        metrics = Metrics('train', infer_task())
        metrics.update({'true': true, 'pred_score': score, 'loss': loss})
        metrics.compute()
    return loss.item(), {'bytes': sum(sizes.values()), 'shape': tuple(pred.shape)}


def _describe(batch: Data) -> str:
    graphs = getattr(batch, 'num_graphs', 1)
    return f'{graphs} graphs, {batch.num_nodes:,} nodes, {batch.num_edges:,} edges'


def _megabytes(size: float) -> str:
    return f'{size / 2**20:,.1f}'
