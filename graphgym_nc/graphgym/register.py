"""Registers a plugin's parts with GraphGym, once."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from torch_geometric.graphgym import register as graphgym

T = TypeVar('T')

# Where other packages, such as GraphGPS, register the same things under the same names.
_SHARED = (
    graphgym.node_encoder_dict,
    graphgym.head_dict,
    graphgym.loss_dict,
    graphgym.metric_dict,
    graphgym.optimizer_dict,
    graphgym.scheduler_dict,
)


def register_once(mapping: dict[str, Any], key: str) -> Callable[[T], T]:
    """Registers what it decorates as :obj:`key` in one of GraphGym's
    dictionaries.

    Unlike :meth:`torch_geometric.graphgym.register.register_base`, it bears
    being run again, after a reload or an import that broke off halfway. If another
    package has taken the name of an encoder, a head, a loss, a metric, an optimizer or a
    scheduler, that package's is kept, and a log line names it. Any other name that is taken is
    an error.
    """

    def register(module: T) -> T:
        taken = mapping.get(key)
        if taken is not None and _origin(taken) != _origin(module):
            if any(mapping is shared for shared in _SHARED):
                text = "*** '%s' is that of %s, not graphgym_nc's"
                logging.getLogger(__name__).warning(text, key, _origin(taken))
                return module
            raise KeyError(f"GraphGym already has a '{key}', from {_origin(taken)}")
        mapping[key] = module
        return module

    return register


def _origin(module: Any) -> str:
    name = getattr(module, '__qualname__', type(module).__qualname__)  # as of a partial
    return f'{module.__module__}.{name}'
