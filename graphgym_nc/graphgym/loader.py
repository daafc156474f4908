"""Data sets that GraphGym does not know."""

from torch_geometric.data import InMemoryDataset
from torch_geometric.graphgym import register
from torch_geometric.graphgym.config import cfg

from graphgym_nc.datasets import load_counting, load_sbm, load_tu
from graphgym_nc.graphgym.register import register_once
from graphgym_nc.graphgym.validation import check_choice
from graphgym_nc.utils.split_names import SPLITS


@register_once(register.loader_dict, 'nc')
def load_dataset(
    format: str,  # noqa: A002
    name: str,
    dataset_dir: str,
    first: int | None = None,
) -> InMemoryDataset | None:
    """Loads the data sets that GraphGym does not know.

    Args:
        format: The key :obj:`dataset.format`.
        name: The key :obj:`dataset.name`.
        dataset_dir: The key :obj:`dataset.dir`.
        first: Of graphs that are generated, draw so many of each split at most.
    """
    if format == 'PyG-GNNBenchmarkDataset' and name in ('PATTERN', 'CLUSTER'):
        return load_sbm(
            dataset_dir,
            name,
            source=cfg.nc.sbm_source,
            num_graphs=cfg.nc.sbm_graphs,
            seed=cfg.nc.sbm_seed,
            timeout=cfg.nc.download_timeout,
            first=first,
        )
    if format == 'PyG-TUDataset':
        return load_tu(dataset_dir, name, cfg.nc.download_timeout)
    if format == 'NC':
        check_choice('dataset.name', name, ['TriangleCounting'])
        return load_counting(
            dataset_dir,
            cfg.nc.counting_source,
            cfg.nc.counting_target,
            num_graphs=cfg.nc.counting_graphs,
            seed=cfg.nc.counting_seed,
            first=first,
        )
    ogb_name = name.replace('_', '-')
    if format == 'OGB' and ogb_name.startswith('ogbg-'):
        from graphgym_nc.datasets.ogb_graphs import OGBGraphs  # OGB's import asks the network

        dataset = OGBGraphs(dataset_dir, ogb_name, cfg.nc.download_timeout)
        for split, index in zip(SPLITS, dataset.split_idxs, strict=True):
            dataset._data[f'{split}_graph_index'] = index  # where GraphGym's own loaders look
        return dataset
    return None
