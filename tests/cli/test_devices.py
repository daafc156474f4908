import pytest
import torch

from graphgym_nc.cli.devices import main


def test_a_key_that_is_not_there(cfg):
    threads = torch.get_num_threads()
    try:
        with pytest.raises(SystemExit, match=r"devices: on the command line: 'foo\.bar' is no"):
            main(['--cfg', 'nc_counting', 'foo.bar', '3'])
    finally:
        torch.set_num_threads(threads)
