"""Registers a plugin's parts with GraphGym, once."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar('T')


def register_once(mapping: dict[str, Any], key: str) -> Callable[[T], T]:
    """Registers what it decorates as :obj:`key` in one of GraphGym's
    dictionaries.

    Unlike :meth:`torch_geometric.graphgym.register.register_base`, it bears
    being run again, after a reload or an import that broke off halfway. A name
    that somebody else has taken is still an error.
    """

    def register(module: T) -> T:
        taken = mapping.get(key)
        if taken is not None and _origin(taken) != _origin(module):
            raise KeyError(f"GraphGym already has a '{key}', from {_origin(taken)}")
        mapping[key] = module
        return module

    return register


def _origin(module: Any) -> str:
    return f'{module.__module__}.{module.__qualname__}'
