"""Percentiles as numpy gives them, without what it takes numpy to give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEW = 1 << 14  # values that are sorted sooner than numpy is loaded


def percentile(values: Sequence[int] | Sequence[float], *percent: float) -> list[float]:
    """What `numpy.percentile` gives, by the same arithmetic (linear interpolation). Its first call loads all
    of numpy.ma, a good part of the time that a short run takes."""
    places = [one / 100 * (len(values) - 1) for one in percent]
    last = len(values) - 1
    ranks = sorted({rank for place in places for rank in (int(place), min(int(place) + 1, last))})
    at = dict(zip(ranks, _ranked(values, ranks), strict=True))
    found = []
    for place in places:
        low, high, part = at[int(place)], at[min(int(place) + 1, last)], place - int(place)
        found.append(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))
    return found


def _ranked(values: Sequence[int] | Sequence[float], ranks: Sequence[int]) -> list[float]:
    """The values that have these ranks."""
    if len(values) > FEW:
        found: list[float] = np.partition(np.asarray(values), ranks)[ranks].tolist()
        return found
    ordered = sorted(values)
    return [ordered[rank] for rank in ranks]
