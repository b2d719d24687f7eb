"""The queue of a lane as a table that follows it: who was there before is not looked at again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kvtui.frames.rows import Numbers
from kvtui.serving.request import Phase, Request

COLUMNS = 4  # request, tokens to compute, arrival in ps, whether it was preempted
_PREEMPTED = 3
_Overlap = tuple[int, int, int]  # first row before, first row now, rows


class QueueTable:
    """A look costs the rows of those who have come since the last one, unless somebody was preempted."""

    def __init__(self) -> None:
        self._queue: list[Request] = []
        self._numbers = np.zeros((0, COLUMNS), np.int64)
        self._preemptions = 0
        self._again: list[tuple[Request, int]] = []  # those who have run, which can still generate a token

    def read(self, queue: Iterable[Request], preemptions: int) -> Numbers:
        """The table of `queue`; `preemptions`: how many there have been so far."""
        now = list(queue)
        if preemptions != self._preemptions or any(r.generated != known for r, known in self._again):
            self._queue, self._numbers = [], self._numbers[:0]
        before, at, count = _overlap(self._queue, now)
        if not count == len(now) == len(self._queue):
            kept = self._numbers[before : before + count]
            self._numbers = np.concatenate([_table(now[:at]), kept, _table(now[at + count :])])
            again = self._numbers[:, _PREEMPTED].nonzero()[0].tolist()
            self._again = [(now[place], now[place].generated) for place in again]
        self._queue, self._preemptions = now, preemptions
        return self._numbers


def _overlap(before: list[Request], now: list[Request]) -> _Overlap:
    """What is left of a queue whose head has gone, or in front of which others have come."""
    if before and now:
        if now[0] in before:
            first = before.index(now[0])
            count = min(len(before) - first, len(now))
            if before[first : first + count] == now[:count]:
                return first, 0, count
        elif before[0] in now:
            first = now.index(before[0])
            count = min(len(before), len(now) - first)
            if before[:count] == now[first : first + count]:
                return 0, first, count
    return 0, 0, 0


def _table(requests: list[Request]) -> Numbers:
    rows = [(r.number, r.known, r.arrival, r.phase is Phase.PREEMPTED) for r in requests]
    return np.array(rows, np.int64).reshape(-1, COLUMNS)
