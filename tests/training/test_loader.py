import signal

import torch
from torch_geometric.data import Data, InMemoryDataset

from graphgym_nc.training.loader import create_loader


class Handlers(InMemoryDataset):
    """Graphs whose label tells whether SLURM's signal is ignored where they are loaded."""

    def __init__(self):
        super().__init__()
        self.data, self.slices = self.collate([Data(x=torch.ones(1, 1)) for _ in range(2)])
        self.transform = self.look

    @staticmethod
    def look(data):
        ignored = signal.getsignal(signal.SIGUSR2) == signal.SIG_IGN
        return Data(x=data.x, y=torch.tensor([int(ignored)]))


def test_workers_leave_signals_to_the_run(cfg):
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    try:
        for workers, ignored in ((0, 0), (1, 1)):
            cfg.num_workers = workers
            (batch,) = create_loader(Handlers(), 'full_batch', shuffle=False)
            assert batch.y.tolist() == [ignored] * 2
    finally:
        signal.signal(signal.SIGUSR2, before)
