"""Counters of a server as totals and rates, whatever the server does in between. Time comes from the caller.

What a series shows when it is first seen is taken as it is, and never enters a rate, because nobody knows how
long that took. A series that falls was started anew: what it shows now comes on top of what it had shown.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Final

from kvtui.frames.counts import Percentiles
from kvtui.live.reading import Buckets, Series

WINDOW_S: Final = 2.0  # over which a rate is taken, once that much is known


class Process(Enum):
    """Who answers, as far as is known."""

    SAME = "the one that answered before"
    ANEW = "started since"
    OTHER = "another one, and nobody knows for how long it has run"


class Tally:
    """One counter over all its series: `total` is None until the server has shown it."""

    def __init__(self) -> None:
        self.total: float | None = None
        self._last: dict[str, float] = {}
        self._keys: frozenset[str] = frozenset()
        self._trail: deque[tuple[float, float]] = deque()  # (time, counted) as far as a rate reaches back

    def fallen(self, series: Series) -> bool:
        """Whether a series shows less than before."""
        return any(value < self._last.get(key, 0.0) for key, value in series.items())

    def take(self, series: Series, now: float, *, process: Process = Process.SAME) -> None:
        """Take in what a scrape shows; nothing if the counter is missing in it."""
        broken = process is not Process.SAME or self.fallen(series) or series.keys() != self._keys
        counted = 0.0
        for key, value in series.items():
            last = self._last.get(key)
            grown = _grown(value, last, process)
            self.total = (self.total or 0.0) + grown
            counted += grown if last is not None else 0.0
            self._last[key] = value
        self._keys = frozenset(series)
        self._follow(counted, now, broken=broken)

    def _follow(self, counted: float, now: float, *, broken: bool) -> None:
        if not self._keys:
            self._trail.clear()
            return
        if broken or (self._trail and now <= self._trail[-1][0]):
            self._trail.clear()
        before = self._trail[-1][1] if self._trail else 0.0
        self._trail.append((now, before + counted))
        while len(self._trail) > 2 and now - self._trail[1][0] >= WINDOW_S:
            self._trail.popleft()

    @property
    def rate(self) -> float | None:
        """A second, over the last scrapes without a break between them; None without two of them."""
        if len(self._trail) < 2:
            return None
        (then, start), (now, end) = self._trail[0], self._trail[-1]
        return (end - start) / (now - then)


def _grown(value: float, last: float | None, process: Process) -> float:
    if last is not None and process is Process.OTHER:
        return value if value < last else 0.0
    if last is None or process is Process.ANEW or value < last:
        return value
    return value - last


def percentiles_of(buckets: Buckets) -> Percentiles:
    """Mean and percentiles of a histogram, as if the observations of a bucket were spread evenly over it; one
    beyond the last bound is not known."""
    if buckets.total <= 0:
        return Percentiles(None, None, None, None, 0)
    p50, p90, p99 = (_quantile(buckets, share) for share in (0.5, 0.9, 0.99))
    return Percentiles(buckets.sum / buckets.total, p50, p90, p99, round(buckets.total))


def _quantile(buckets: Buckets, share: float) -> float | None:
    rank, low, below = share * buckets.total, 0.0, 0.0
    for bound, count in zip(buckets.bounds, buckets.counts, strict=True):
        if count >= rank:
            if bound == float("inf"):
                return None
            return low + (bound - low) * (rank - below) / (count - below) if count > below else bound
        low, below = bound, count
    return None
