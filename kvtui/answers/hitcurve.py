"""Hit rates of a prefix cache at every size from one pass over a trace: stack distances.

With least recently used eviction a larger cache holds all that a smaller one holds (Mattson et al., 1970). So
one number an access, how many other units were touched since the last time, decides at which sizes it hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kvtui.errors import ConfigError
from kvtui.traces.workload import Ints, Workload

NEVER = np.iinfo(np.int64).max  # distance of what was not touched before


@dataclass(frozen=True, slots=True)
class HitCurve:
    """Distances of the units of all prompts, in order; of each the largest of its prefix."""

    unit: int  # tokens
    distance: Ints
    units: int  # different ones
    tokens: Ints  # of the prompt, in each of the units asked for
    prompts: int  # tokens of all prompts, those without a unit included

    def rate(self, size: int) -> float:
        """Share of the units found in a cache of `size` units, where a hit needs its whole prefix."""
        return float((self.distance < size).mean()) if len(self.distance) else 0.0

    def found(self, size: int) -> float:
        """Share of the prompt tokens found in a cache of `size` units, where a hit needs its whole prefix."""
        return float(self.tokens[self.distance < size].sum()) / self.prompts if self.prompts else 0.0

    @property
    def ceiling(self) -> float:
        """Share of the units found with room for everything."""
        return self.rate(NEVER)


def hit_curve(workload: Workload, *, last: float = 1.0) -> HitCurve:
    """The curve of a trace with prefix identity, in units of the trace; of the `last` share of its requests
    only, those before warm the cache. Raises ConfigError without identity."""
    if not workload.unit:
        raise ConfigError(
            f"{workload.name} does not say which prefixes are the same", hint="use a trace with block hashes"
        )
    chain, start = workload.chain, workload.chain_start
    lengths = np.diff(start)
    distance = stack_distances(chain)
    # A block is only of use behind its whole prefix: the running maximum within each request.
    request = np.repeat(np.arange(len(lengths)), lengths)
    widest = _running_maximum(distance, request)
    # Generated tokens that the trace names are there to be found, but nobody looks for them while they come.
    place = np.arange(len(chain)) - np.repeat(start[:-1], lengths)
    left = np.repeat(workload.prompt, lengths) - place * workload.unit
    warm = round(len(lengths) * (1 - last))
    counted = (left > 0) & (np.arange(len(chain)) >= start[warm])
    return HitCurve(
        workload.unit,
        widest[counted],
        len(np.unique(chain)),
        np.minimum(left[counted], workload.unit),
        int(workload.prompt[warm:].sum()),
    )


def stack_distances(ids: Ints) -> Ints:
    """For each access, how many other ids were touched since its own was; NEVER the first time."""
    n = len(ids)
    order = np.argsort(ids, kind="stable")
    again = np.flatnonzero(ids[order][1:] == ids[order][:-1]) + 1
    previous = np.full(n, -1, np.int64)
    previous[order[again]] = order[again - 1]
    # Since then as many ids were touched as there are accesses whose own last time was before that.
    distance = earlier_at_most(previous) - (previous + 1)
    distance[previous < 0] = NEVER
    return distance


def earlier_at_most(values: Ints) -> Ints:
    """For each place, how many earlier ones hold at most its value: a merge sort over the bits of places."""
    count = np.zeros(len(values), np.int64)
    by_value = np.argsort(values, kind="stable")
    for bit in range(max(len(values) - 1, 0).bit_length()):
        group = by_value >> (bit + 1)
        place = by_value[np.argsort(group, kind="stable")]
        left = (place >> bit) & 1 == 0
        before = np.cumsum(left)
        heads = np.flatnonzero(np.diff(place >> (bit + 1), prepend=-1))
        base = np.repeat(before[heads] - left[heads], np.diff(np.append(heads, len(place))))
        count[place[~left]] += (before - base)[~left]
    return count


def _running_maximum(values: Ints, group: NDArray[np.int64]) -> Ints:
    """Within each run of equal `group`, the largest value so far."""
    # Groups ascend: a value that is small enough plus a large step a group makes one running maximum of all.
    small = np.minimum(values, len(values))
    step = len(values) + 1
    widest = np.maximum.accumulate(small + group * step) - group * step
    return np.where(widest >= len(values), NEVER, widest)


def sizes_for(curve: HitCurve, points: int = 12) -> Sequence[int]:
    """Cache sizes from small to all, each about as many times the one before."""
    return sorted({int(n) for n in np.geomspace(1, max(curve.units, 2), points)})
