"""Which beams go on: a model of beam search where no language model is.

Real scores need the model. What memory sees of them is only the ancestry: which of the beams the new ones go
on from. Here every beam has a score, its best continuation costs an exponentially distributed amount, each
further one some more, and the cheapest continuations of all beams live on. Scores only matter against each
other, so one number decides how bushy the trees are: how much dearer a further continuation is than the best.
"""

from __future__ import annotations

from heapq import nsmallest
from math import log
from typing import NamedTuple

from kvtui.mixing import MASK, mixed

GAP = 1.0  # mean further cost of each next continuation, in units of the mean cost of the best


class _Continuation(NamedTuple):
    cost: float
    parent: int
    place: int  # among the continuations of its parent


class BeamTree:
    """The beams of one request. Pure: request number and length decide everything."""

    def __init__(self, number: int, width: int, *, gap: float = GAP) -> None:
        self._number = number
        self._gap = gap
        self._costs = [self._draw(0, beam) for beam in range(width)]

    def parents(self, length: int) -> list[int]:
        """For each beam, which one it goes on from once `length` tokens are generated; a beam that lives on
        keeps its place."""
        width = len(self._costs)
        found = [
            _Continuation(cost, beam, place)
            for beam, start in enumerate(self._costs)
            for place, cost in enumerate(self._continuations(start, length, beam))
        ]
        best = nsmallest(width, found)
        least = best[0].cost
        heirs: list[list[float]] = [[] for _ in range(width)]
        for continuation in best:
            heirs[continuation.parent].append(continuation.cost - least)
        further = [(cost, beam) for beam, costs in enumerate(heirs) for cost in costs[1:]]
        parents = []
        for beam, costs in enumerate(heirs):
            cost, parent = (costs[0], beam) if costs else further.pop(0)
            self._costs[beam] = cost
            parents.append(parent)
        return parents

    def _continuations(self, cost: float, length: int, beam: int) -> list[float]:
        width, costs = len(self._costs), []
        for place in range(width):
            scale = self._gap if place else 1.0
            cost += scale * self._draw(length, beam * width + place)
            costs.append(cost)
        return costs

    def _draw(self, length: int, which: int) -> float:
        """An exponentially distributed number of mean 1, from what it is for."""
        return -log((mixed(mixed(self._number << 32 | length) + which) + 1) / (MASK + 2))
