"""Sums over columns of whole numbers: in plain Python while they are short, as a short run takes less time
than loading numpy, by numpy where they are long. Sums of tokens, and of times in ns, stay far below 2**63."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import sqrt
from operator import add, countOf, mul, sub

import numpy as np

from kvtui.percentile import FEW


def sum_of(values: Sequence[int]) -> int:
    """Their sum."""
    return sum(values) if len(values) <= FEW else int(np.asarray(values).sum())


def least(values: Sequence[int]) -> int:
    """The smallest of them."""
    return min(values) if len(values) <= FEW else int(np.asarray(values).min())


def most(values: Sequence[int]) -> int:
    """The largest of them; 0 without any."""
    return max(values, default=0) if len(values) <= FEW else int(np.asarray(values).max())


def count_of(values: Sequence[int], value: int) -> int:
    """How often a value is among them."""
    if len(values) <= FEW:
        return countOf(values, value)
    return int(np.count_nonzero(np.asarray(values) == value))


def gaps(values: Sequence[int]) -> Sequence[int]:
    """By how much each is above the one before."""
    if len(values) <= FEW:
        return array("q", map(sub, values[1:], values))
    return np.diff(np.asarray(values)).data


def added(first: Sequence[int], second: Sequence[int]) -> Sequence[int]:
    """Two columns, row by row."""
    if len(first) <= FEW:
        return array("q", map(add, first, second))
    return np.add(first, second).data


def cut(values: Sequence[int], limit: int) -> Sequence[int]:
    """Each of them, `limit` at most."""
    if len(values) <= FEW:
        return array("q", [min(value, limit) for value in values])
    return np.minimum(values, limit).data


def variation(values: Sequence[int]) -> float | None:
    """The population standard deviation over the mean; None where that is 0."""
    whole = sum_of(values)
    if not whole:
        return None
    if len(values) > FEW:
        return float(np.asarray(values).std()) * len(values) / whole
    return sqrt(len(values) * sum(map(mul, values, values)) - whole * whole) / whole
