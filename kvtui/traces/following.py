"""Which request each one waits for, the turn before or calls its row names, and how long after its end."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from decimal import Decimal

import numpy as np

from kvtui.traces.columns import Columns
from kvtui.traces.workload import Ints, Workload

SENT = "a turn is sent when the request it follows has ended and the wait that the trace states is over"


class Following:
    """Collects it of the rows that are kept, in the order of the file."""

    def __init__(self) -> None:
        self._last: dict[Hashable, int] = {}  # who is known by a key, as a place among the rows kept
        self._times: list[Decimal] = []
        self._before: list[int] = []  # -1 = nobody
        self._waits: list[int] = []  # ns; -1 = the row has a time of its own

    def add(
        self, time: Decimal, *, known_as: Iterable[Hashable], after: Iterable[Hashable], wait_ns: int
    ) -> None:
        """A row that would arrive at `time` if answers took none, and follows the last of those `after`."""
        awaited = [self._last[key] for key in after if key in self._last]
        self._before.append(max(awaited, key=lambda place: (self._times[place], place), default=-1))
        self._waits.append(wait_ns)
        self._last.update(dict.fromkeys(known_as, len(self._times)))
        self._times.append(time)

    def joined(self, workload: Workload, columns: Columns) -> Workload:
        """The workload with these columns; its loop is closed where no follower has a time of its own."""
        before, waits = self._columns(columns)
        follower = before >= 0
        if not follower.any():
            return workload
        closed = not (waits[follower] < 0).any()
        assumed = (*workload.assumed, SENT) if closed else workload.assumed
        return replace(workload, follows=before, waits_ns=waits, closed=closed, assumed=assumed)

    def _columns(self, columns: Columns) -> tuple[Ints, Ints]:
        order = columns.order
        place = np.full(len(order) + 1, -1, np.int64)  # the last one stands for nobody
        place[order] = np.arange(len(order))
        before, waits = (np.array(values, np.int64)[order] for values in (self._before, self._waits))
        return place[before], waits
