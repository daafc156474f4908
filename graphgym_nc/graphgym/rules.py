"""What the value of a configuration key may be, in words and as a test."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from graphgym_nc.datasets.splits import Folds

_LARGEST = 2**32 - 1  # as a seed of NumPy


@dataclass(frozen=True)
class Rule:
    """What is allowed for a key, beside the type that its default has.

    Attributes:
        words: What is allowed, in words.
        holds: Whether it holds of a value of the right type.
        choices: The names to choose from, if there are some.
    """

    words: str
    holds: Callable[[Any], bool]
    choices: Callable[[], Collection[str]] | None = None


ANY = Rule('', lambda value: True)
FLAG = Rule('True or False', lambda value: True)
FINITE = Rule('a finite number', lambda value: True)
TEXT = Rule('text', bool)


def integer(low: int, high: int = _LARGEST) -> Rule:
    """An integer, and no absurdly large one."""
    words = f'an integer from {low}' + (f' to {high}' if high < _LARGEST else '')
    return Rule(words, lambda value: low <= value <= high)


def number(low: float, high: float = math.inf) -> Rule:
    """A finite number between two, or equal to one of them."""
    words = f'a number from {low:g}' + (f' to {high:g}' if high < math.inf else '')
    return Rule(words, lambda value: low <= value <= high)


def above(low: float, high: float = math.inf) -> Rule:
    """A finite number above another."""
    words = f'a number above {low:g}' + (f', at most {high:g}' if high < math.inf else '')
    return Rule(words, lambda value: low < value <= high)


def below_one() -> Rule:
    """A share of what is never all of it."""
    return Rule('a number from 0, below 1', lambda value: 0 <= value < 1)


def one_of(*names: str) -> Rule:
    """One of these names."""
    return Rule('one of ' + ', '.join(f'`{name}`' for name in names), names.__contains__,
                lambda: names)  # fmt: skip


def registered(what: str, names: Collection[str], *more: str) -> Rule:
    """A name that is registered when it is checked, or one of some more."""
    words = ', or '.join([f'the name of {what}', *(f'`{name}`' for name in more)])
    return Rule(words, lambda name: name in names or name in more, lambda: {*names, *more})


def each(words: str, rule: Rule, kind: type, *lengths: int) -> Rule:
    """A list whose members keep a rule; of some lengths only, if they are given."""

    def holds(values: list[Any]) -> bool:
        known = all(type(value) is kind and rule.holds(value) for value in values)
        return known and (not lengths or len(values) in lengths)

    return Rule(words, holds, rule.choices)


def shares(values: list[Any]) -> bool:
    """Whether numbers are the shares of two or three splits."""
    numbers = all(type(value) in (int, float) and value > 0 for value in values)
    return numbers and len(values) in (2, 3) and sum(values) <= 1 + 1e-9


SHARES = Rule('two or three shares that add up to at most 1', shares)
SPLIT_MODE = Rule(
    'random, custom, cv-stratified-<folds> or gin-folds, each of the last two also with -inner',
    lambda mode: mode in ('random', 'custom') or Folds.of(mode) is not None,
)
