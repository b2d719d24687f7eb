"""Rows that are used, kept small: 24 bytes a row or less until they become the columns of a workload."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kvtui.traces.clock import YEAR_NS, check_gaps
from kvtui.traces.fields import BILLION, Numbers
from kvtui.traces.source import Source
from kvtui.traces.workload import Ints

Small = NDArray[np.int32]


class Kept:
    """Columns in parts; each is handed out once, and its parts are given up on the way."""

    def __init__(self) -> None:
        self._whole: list[Ints] = []
        self._nano: list[Small | None] = []  # None where all are 0
        self._counts: dict[str, list[Small]] = {"prompt": [], "output": [], "line": []}
        self._length = 0
        self.least = (2**63, 0)  # the smallest time, whole units and billionths
        self._most = -(2**63)

    def __len__(self) -> int:
        return self._length

    def add(self, times: Numbers, *, prompt: Ints, output: Ints, line: Ints, rows: Ints) -> None:
        """Take the `rows` of some columns; counts and lines are below 2**31."""
        if not len(rows):
            return
        whole, nano = times.whole[rows], times.nano[rows]
        self._whole.append(whole)
        self._nano.append(nano.astype(np.int32) if nano.any() else None)
        for name, column in (("prompt", prompt), ("output", output), ("line", line)):
            self._counts[name].append(column[rows].astype(np.int32))
        smallest = int(whole.min())
        self.least = min(self.least, (smallest, int(nano[whole == smallest].min())))
        self._most = max(self._most, int(whole.max()))
        self._length += len(rows)

    def check_clock(self, *, unit: int, source: Source) -> None:
        """Raises TraceError where the times cannot be of one clock counting `unit` ns."""
        if (self._most - self.least[0]) * unit > YEAR_NS:
            lines = np.concatenate(self._counts["line"]).astype(np.int64)
            check_gaps(np.concatenate(self._whole), lines, unit=unit, source=source)

    def origin(self, *, unit: int) -> int:
        """The smallest time in nanoseconds."""
        whole, nano = self.least
        return whole * unit + (nano * unit + BILLION // 2) // BILLION

    def arrivals(self, *, unit: int) -> Ints:
        """Nanoseconds after the smallest time, in the order of the file."""
        ns = np.empty(self._length, np.int64)
        at, least = 0, self.least[0]
        for whole, nano in self._times():
            part = ns[at : at + len(whole)]
            np.multiply(whole - least, unit, out=part)
            if nano is not None:
                part += (nano.astype(np.int64) * unit + BILLION // 2) // BILLION
            at += len(whole)
        ns -= ns.min()
        return ns

    def _times(self) -> Iterator[tuple[Ints, Small | None]]:
        self._whole.reverse()
        self._nano.reverse()
        while self._whole:
            yield self._whole.pop(), self._nano.pop()

    def column(self, name: str) -> Ints:
        """The column `prompt`, `output` or `line`, in the order of the file."""
        parts = self._counts.pop(name)
        whole = np.empty(self._length, np.int64)
        at = 0
        parts.reverse()
        while parts:
            part = parts.pop()
            whole[at : at + len(part)] = part
            at += len(part)
        return whole
