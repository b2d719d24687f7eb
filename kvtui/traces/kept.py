"""Rows that are used, kept small: 24 bytes a row or less until they become the columns of a workload."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtui.traces.clock import check_gaps
from kvtui.traces.fields import BILLION, Numbers
from kvtui.traces.source import Source
from kvtui.traces.timeunits import YEAR_NS
from kvtui.traces.workload import Ints

_LARGE = 1 << 18  # rows from which a column grows by little at a time
_PIECE = 1 << 16  # rows to compute with at a time


class _Column:
    """One array that grows in place: memory in use is that of its rows, with no copy beside it."""

    def __init__(self, dtype: type[np.int32] | type[np.int64]) -> None:
        self._values: NDArray[Any] = np.empty(0, dtype)
        self.length = 0

    def extend(self, part: NDArray[Any]) -> None:
        end = self.length + len(part)
        if end > len(self._values):
            room = self.length // 16 if end > _LARGE else self.length
            self._values.resize(end + room, refcheck=False)
        self._values[self.length : end] = part
        self.length = end

    def taken(self) -> NDArray[Any]:
        """The values; the column is empty then."""
        values, self._values = self._values, self._values[:0].copy()
        values.resize(self.length, refcheck=False)
        self.length = 0
        return values


class Kept:
    """Columns of usable rows in the order of the file; each can be taken once."""

    def __init__(self) -> None:
        self._whole, self._nano = _Column(np.int64), _Column(np.int32)
        self._counts = {name: _Column(np.int32) for name in ("prompt", "output", "line")}
        self.least = (2**63, 0)  # the smallest time, whole units and billionths
        self._most = -(2**63)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, times: Numbers, *, prompt: Ints, output: Ints, line: Ints, rows: Ints) -> None:
        """Take the `rows` of some columns; counts and lines are below 2**31."""
        if not len(rows):
            return
        whole, nano = times.whole[rows], times.nano[rows]
        if nano.any() and not self._nano.length:
            self._nano.extend(np.zeros(self._length, np.int32))  # whole units only, so far
        if nano.any() or self._nano.length:
            self._nano.extend(nano)
        self._whole.extend(whole)
        for name, column in (("prompt", prompt), ("output", output), ("line", line)):
            self._counts[name].extend(column[rows])
        smallest = int(whole.min())
        self.least = min(self.least, (smallest, int(nano[whole == smallest].min())))
        self._most = max(self._most, int(whole.max()))
        self._length += len(rows)

    def check_clock(self, *, unit: int, source: Source) -> None:
        """Raises TraceError where the times cannot be of one clock counting `unit` ns."""
        if (self._most - self.least[0]) * unit > YEAR_NS:
            whole, line = self._whole.taken(), self._counts["line"].taken()
            check_gaps(whole, line.astype(np.int64), unit=unit, source=source)
            self._whole.extend(whole)
            self._counts["line"].extend(line)

    def origin(self, *, unit: int) -> int:
        """The smallest time in nanoseconds."""
        whole, nano = self.least
        return whole * unit + (nano * unit + BILLION // 2) // BILLION

    def arrivals(self, *, unit: int) -> Ints:
        """Nanoseconds after the smallest time."""
        ns: Ints = self._whole.taken()
        nano = self._nano.taken()
        ns -= self.least[0]
        ns *= unit
        for start in range(0, len(nano), _PIECE):
            part = nano[start : start + _PIECE].astype(np.int64)
            ns[start : start + _PIECE] += (part * unit + BILLION // 2) // BILLION
        ns -= ns.min()
        return ns

    def column(self, name: str) -> Ints:
        """The column `prompt`, `output` or `line`."""
        return self._counts[name].taken().astype(np.int64)
