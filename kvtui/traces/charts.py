"""What a workload looks like over time and by length, counted for charts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kvtui.traces.workload import Ints, Workload


class Bar(NamedTuple):
    """Requests with `low` to `high` tokens, both included."""

    low: int
    high: int
    requests: int


def lengths(tokens: Ints, *, bars: int) -> list[Bar]:
    """How many requests have how many tokens, in at most `bars` steps that double; short ones join."""
    if not len(tokens):
        return []
    top = max(int(tokens.max()), 1).bit_length()
    edges = [1 << power for power in range(max(top - bars + 1, 1), top + 1)]
    counts = np.histogram(tokens, [0, *edges])[0].tolist()
    found = [Bar(low, high - 1, n) for low, high, n in zip([0, *edges[:-1]], edges, counts, strict=True)]
    first = next(at for at, bar in enumerate(found) if bar.requests)
    return found[first:]


def arrivals(workload: Workload, *, buckets: int) -> list[int]:
    """Requests that arrive in each of `buckets` equal stretches from the first arrival to the last."""
    times = workload.arrival_ns
    if not len(times):
        return [0] * buckets
    span = max(int(times[-1] - times[0]), 1)
    places = np.minimum(((times - times[0]) / span * buckets).astype(np.int64), buckets - 1)
    counts: list[int] = np.bincount(places, minlength=buckets).tolist()
    return counts
