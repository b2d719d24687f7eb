"""Requests that became known as the workload of simulated lanes: its rows only ever grow.

A request takes 48 bytes for as long as the lanes run. The ids of its prompt, 8 bytes for 16 tokens, are
forgotten once there are too many of later ones: lanes have long taken it in, and blocks keep their own ids.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kvtui.live.whatif.tail import Known, Requests
from kvtui.traces.workload import Ints, Workload
from kvtui.units import PS_PER_NS

EVERY_S: Final = 0.2
LATE_NS: Final = 1_000_000  # and less is not worth a word
ROOM: Final = 1024  # of a column, at first
MOST: Final = 1 << 22  # ids, in 32 MB: 18 hours at 1,000 prompt tokens a second


class Column:
    """Numbers that are added at the end. What was `seen` before never changes."""

    def __init__(self, first: Sequence[int] | Ints = ()) -> None:
        self._room: Ints = np.zeros(ROOM, np.int64)
        self._count = 0
        self.add(first)

    def add(self, values: Sequence[int] | Ints) -> None:
        end = self._count + len(values)
        if end > len(self._room):
            room = np.zeros(2 * end, np.int64)
            room[: self._count] = self.seen
            self._room = room
        self._room[self._count : end] = values
        self._count = end

    @property
    def seen(self) -> Ints:
        return self._room[: self._count]

    def __len__(self) -> int:
        return self._count


class Told(NamedTuple):
    """All requests that arrive before `until_ps`."""

    workload: Workload
    until_ps: int


class Feed:
    """Asks for requests from time to time once it is started. Times count from `start_s`; who came before is
    left out, and who became known too late comes later than he did: `late` counts them. Of no more than
    `most` ids the oldest half is forgotten: of `forgotten` requests, which came before `kept_ps`."""

    def __init__(self, requests: Requests, *, start_s: float, most: int = MOST) -> None:
        self._requests = requests
        self._most = most
        self.forgotten = 0
        self.kept_ps = 0
        self._start_s = start_s
        self._columns = {name: Column() for name in ("arrival_ns", "prompt", "output", "line", "identified")}
        self._chain, self._chain_start = Column(), Column([0])
        self._until_ns = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name=requests.name)
        self.late = 0
        self.problem = ""
        self.told = Told(self._workload(), 0)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            try:
                self.read()
                self.problem = ""
            except Exception as error:  # whatever happened to the file: the servers are watched on
                self.problem = str(error)

    def read(self) -> None:
        """Take in what is known by now."""
        known, until_s = self._requests.take()
        last = 0
        for row in known:
            if row.at_s >= self._start_s:
                last = self._add(row)
        if len(self._chain) > self._most:
            self._forget()
        self._until_ns = max(round((until_s - self._start_s) * 1e9), self._until_ns, last + 1)
        self.told = Told(self._workload(), self._until_ns * PS_PER_NS)

    def _add(self, row: Known) -> int:
        """Gives when it arrives."""
        asked_ns = round((row.at_s - self._start_s) * 1e9)
        at_ns = max(asked_ns, self._until_ns)
        self.late += at_ns - asked_ns > LATE_NS
        values = {
            "arrival_ns": at_ns,
            "prompt": row.prompt,
            "output": row.output,
            "line": 0,
            "identified": row.identified,
        }
        for name, value in values.items():
            self._columns[name].add([value])
        self._chain.add(row.ids)
        self._chain_start.add([len(self._chain)])
        return at_ns

    def _forget(self) -> None:
        """In new columns: what was seen of the old ones stays."""
        start, identified = self._chain_start.seen, self._columns["identified"].seen.copy()
        first = int(np.searchsorted(start, start[-1] - self._most // 2))
        identified[:first] = 0
        self._chain = Column(self._chain.seen[start[first] :])
        self._chain_start = Column(np.maximum(start - start[first], 0))
        self._columns["identified"] = Column(identified)
        self.forgotten = first
        arrivals = self._columns["arrival_ns"].seen
        self.kept_ps = int(arrivals[min(first, len(arrivals) - 1)]) * PS_PER_NS

    def _workload(self) -> Workload:
        columns: dict[str, Any] = {name: column.seen for name, column in self._columns.items()}
        return Workload(
            name=self._requests.name,
            format="kvtui",
            unit=self._requests.unit,
            chain=self._chain.seen,
            chain_start=self._chain_start.seen,
            **columns,
        )
