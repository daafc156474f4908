"""Names of configurations, and what a grid chose for each."""

import re
from ast import literal_eval
from typing import Any

_CHOICE = re.compile(r'-([A-Za-z0-9_.]+)=(.*?)(?=-[A-Za-z0-9_.]+=|$)')


def choices(name: str) -> dict[str, Any]:
    """What a grid chose for a configuration, as its name says."""
    return {alias: literal(value) for alias, value in _CHOICE.findall(name)}


def sort_key(value: Any) -> tuple[bool, float, str]:
    """Orders values: numbers first, then all else by name, as both may be
    choices of one dimension.
    """
    if isinstance(value, (int, float)):
        return False, value, ''
    return True, 0.0, str(value)


def literal(text: str) -> Any:
    """The Python value that a text stands for, if any, or else the text."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def value_name(value: Any) -> str:
    """A value as part of a file's name: GraphGym's, where that is one."""
    text = str(value).replace(' ', '').replace("'", '').strip('[]')
    return re.sub(r'[^A-Za-z0-9_.,+-]', '_', text)
