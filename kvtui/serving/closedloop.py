"""Closed loops: requests that are sent only when others have ended, as people and agents do it.

A turn of a conversation comes when the turn before has ended, plus the time its author thinks or a tool
runs. With a fixed number of clients each begins its next conversation when its last one is over. When that
is depends on the server: every lane has arrivals of its own, of the same requests.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace

import numpy as np

from kvtui.serving.intake import Arrival
from kvtui.traces.workload import Ints, Workload
from kvtui.units import PS_PER_NS


class Turns:
    """Who follows whom in a workload; never changes."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        count = len(workload)
        before = workload.follows if workload.closed else None
        self._before = np.full(count, -1, np.int64) if before is None else before
        self.heads = np.flatnonzero(self._before < 0)  # of conversations, in order of arrival
        self._rows = np.argsort(self._before, kind="stable")  # followers, by whom they follow
        self._sorted = self._before[self._rows]
        self.conversation = _roots(self._before)
        self.sizes = np.bincount(self.conversation, minlength=count)  # turns, by the row of the first

    def after(self, number: int) -> list[int]:
        """The requests that follow one."""
        if not self.workload.closed:
            return []
        low, high = np.searchsorted(self._sorted, (number, number + 1))
        found: list[int] = self._rows[low:high].tolist()
        return found

    def wait(self, number: int) -> int:
        """Picoseconds from the end of the request before until this one is sent."""
        assert self.workload.waits_ns is not None
        return int(self.workload.waits_ns[number]) * PS_PER_NS

    def arrival(self, number: int, time: int) -> Arrival:
        """The request, sent at `time`."""
        workload = self.workload
        priority = 0 if workload.priority is None else int(workload.priority[number])
        return Arrival(number, time, int(workload.prompt[number]), int(workload.output[number]), priority)


def _roots(before: Ints) -> Ints:
    """The first turn of each row's conversation."""
    root = np.where(before < 0, np.arange(len(before)), before)
    while not np.array_equal(further := root[root], root):
        root = further
    return root


class ClosedLoop:
    """What is sent next, as far as it is known by now: tell it of everything that `ended`."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._known: list[tuple[int, int]] = []  # heap of (ps, number)
        self._begun = 0  # heads that were sent or have a time
        self._left: dict[int, int] = {}  # turns to end of the conversations that clients hold
        for _ in range(min(turns.workload.clients, len(turns.heads))):
            self._begin(0)

    def next(self) -> Arrival | None:
        """The next request; None where none has a time yet."""
        turns, heads = self._turns, self._turns.heads
        if not turns.workload.clients and self._begun < len(heads):
            head = int(heads[self._begun])
            coming = int(turns.workload.arrival_ns[head]) * PS_PER_NS, head
            if not self._known or coming < self._known[0]:
                self._begun += 1
                return turns.arrival(head, coming[0])
        if not self._known:
            return None
        time, number = heappop(self._known)
        return turns.arrival(number, time)

    def ended(self, number: int, now: int, first: Arrival | None) -> Arrival | None:
        """A request ended, was refused or aborted; `first` was next up to now. Returns what now is next."""
        turns = self._turns
        for follower in turns.after(number):
            heappush(self._known, (now + turns.wait(follower), follower))
        if turns.workload.clients:
            conversation = int(turns.conversation[number])
            self._left[conversation] -= 1
            if not self._left[conversation]:
                del self._left[conversation]
                self._begin(now)
        if first is None:
            return self.next()
        if not self._known or self._known[0] >= (first.time, first.number):
            return first
        time, sooner = heapreplace(self._known, (first.time, first.number))
        return turns.arrival(sooner, time)

    def _begin(self, now: int) -> None:
        """A client begins the next conversation, if one is left."""
        heads = self._turns.heads
        if self._begun < len(heads):
            head = int(heads[self._begun])
            self._begun += 1
            self._left[head] = int(self._turns.sizes[head])
            heappush(self._known, (now, head))
