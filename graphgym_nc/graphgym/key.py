"""A configuration key."""

from typing import Any, NamedTuple

from graphgym_nc.graphgym.rules import Rule


class Key(NamedTuple):
    """A configuration key.

    Attributes:
        name: The full name, such as :obj:`"gnn.dim_inner"`.
        rule: What it may be.
        text: What it means.
        default: What it is unless it is set; GraphGym's own if not given.
    """

    name: str
    rule: Rule
    text: str
    default: Any = None
