"""One field of a `config.json` at a time. What is there and makes no sense is refused by its name: taken as
absent it would give a wrong size."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

Config = dict[str, Any]
Kind = TypeVar("Kind", bool, str, list[Any], dict[str, Any])

MOST = 10**12  # of any number: far beyond every model, and well within a float
KINDS: dict[type[Any], str] = {bool: "true or false", str: "text", list: "a list", dict: "an object"}


def first(config: Config, names: tuple[str, ...], *, most: int = MOST, zero: bool = False) -> int | None:
    """The first of these fields that the file has, a whole number from 1 to `most`.

    null counts as absent, and with `zero` so does 0. Raises ValueError for any other value.
    """
    for name in names:
        value = config.get(name)
        if value is None or (zero and value == 0):
            continue
        if not _is_whole(value) or not 0 < value <= most:
            raise ValueError(f"{name} is {_said(value)}, not a whole number from {1 - zero} to {most:,}")
        return int(value)
    return None


def count(config: Config, *names: str, most: int = MOST) -> int:
    """The first of these fields that is more than 0, a whole number; 0 where there is none."""
    return first(config, names, most=most, zero=True) or 0


def required(config: Config, name: str) -> int:
    """The whole number in this field. Raises KeyError where it is absent, ValueError where it is no such."""
    value = first(config, (name,))
    if value is None:
        raise KeyError(name)
    return value


def typed(config: Config, name: str, kind: type[Kind]) -> Kind | None:
    """What this field has, of this kind; None where it is absent. Raises ValueError for anything else."""
    value = config.get(name)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name} is {_said(value)}, not {KINDS[kind]}")
    return value


def indices(config: Config, name: str) -> set[int] | None:
    """The layers that this field lists by their numbers; None where it is absent."""
    values = typed(config, name, list)
    for value in values or ():
        if not _is_whole(value) or value < 0:
            raise ValueError(f"{name} lists {_said(value)}, not the number of a layer")
    return None if values is None else {int(value) for value in values}


def word(config: Config, name: str, known: Collection[str], *, default: str) -> str:
    """One of the words that this field may have; null counts as absent."""
    value = config.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} is {_said(value)}, not one of {', '.join(known)}")
    return value


def _is_whole(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < float("inf") and value == int(value)


def _said(value: Any) -> str:
    return str(value)[:40]
