"""What it takes to load graphs in the form of ogbg-ppa, and to go through them."""

import threading
import time
from pathlib import Path

import torch
from torch_geometric.loader import DataLoader

from graphgym_nc.datasets.fingerprint import data_fingerprint
from graphgym_nc.datasets.ogb_graphs import OGBGraphs
from graphgym_nc.triangles import TriangleIncidence


def measure_ppa_like(datasets: Path) -> None:
    """Prints time and memory of each step from the raw files to an epoch of batches."""
    torch.set_num_threads(1)
    with Watch('conversion (if need be) and loading') as watch:
        dataset = OGBGraphs(datasets, 'ogbg-ppa')
    tensors = [v for v in dataset._data.to_dict().values() if isinstance(v, torch.Tensor)]
    size = sum(t.numel() * t.element_size() for t in tensors)
    number = len(dataset)
    print(f'{number} graphs, {size / 2**20:.0f} MB of tensors, {size / number / 1024:.0f} KB each')
    watch.report(number)
    with Watch('fingerprint, as at the start of a run') as watch:
        data_fingerprint(dataset._data)
    watch.report(number)
    parts = [dataset[index] for index in dataset.split_idxs]
    with Watch('an epoch of batches') as watch:
        for part in parts:
            for _ in DataLoader(part, batch_size=32, shuffle=True):
                pass
    watch.report(number)
    messages = 0
    with Watch('an epoch of batches with their triangles') as watch:
        for part in parts:
            for batch in DataLoader(part, batch_size=32, shuffle=True):
                messages += TriangleIncidence.from_data(batch).num_messages
    watch.report(number)
    print(f'{messages / dataset._data.num_nodes:.1f} edges among the neighbours of a node')


class Watch:
    """Takes the time, and the peak of memory that the system cannot take back (no file's)."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> 'Watch':
        self.before = self.peak = private_mb()
        self.running = True
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self.start
        self.running = False
        self.thread.join()

    def sample(self) -> None:
        """Notes the peak, until the watch is stopped."""
        while self.running:
            self.peak = max(self.peak, private_mb())
            time.sleep(0.005)

    def report(self, number: int) -> None:
        """Prints what was measured, per graph."""
        print(
            f'{self.what}: {1e3 * self.seconds / number:.3f} ms per graph, '
            f'at most {self.peak - self.before:.0f} MB more memory'
        )


def private_mb() -> float:
    """The memory of this process that is not a file's."""
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith('RssAnon'):
            return int(line.split()[1]) / 1024
    raise OSError("'/proc/self/status' does not tell the memory of this process")
