"""All that is registered with GraphGym, file by file as in ``torch_geometric/graphgym``.

Importing it registers it. No mathematics: layers come from :mod:`~graphgym_nc.nn`, data
sets from :mod:`~graphgym_nc.datasets`. Imports these, :mod:`~graphgym_nc.results`, and
what they import.
"""

import graphgym_nc.graphgym.config
import graphgym_nc.graphgym.encoder
import graphgym_nc.graphgym.head
import graphgym_nc.graphgym.layer
import graphgym_nc.graphgym.loader
import graphgym_nc.graphgym.loss
import graphgym_nc.graphgym.metric
import graphgym_nc.graphgym.network
import graphgym_nc.graphgym.optim
import graphgym_nc.graphgym.peers
import graphgym_nc.graphgym.scheduler
import graphgym_nc.graphgym.stage  # noqa: F401
