"""Rows of whole numbers that only grow: what happened, in order, at a few bytes a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Row = Sequence[int]
_FIRST = 256  # rows
MOST = 1 << 20  # rows that a screen keeps


class Ledger:
    """A table of `width` columns, the first of which never falls. Beyond `most` rows the older half is
    forgotten; None = never."""

    def __init__(self, width: int, *, most: int | None = MOST) -> None:
        self._table = np.zeros((_FIRST, width), np.int64)
        self.most = most
        self._used = 0
        self._written = 0  # rows of the table ever, forgotten ones too
        self._fresh: list[Row] = []  # not in the table yet

    @property
    def total(self) -> int:
        """Rows ever written, forgotten ones too."""
        return self._written + len(self._fresh)

    @property
    def rows(self) -> NDArray[np.int64]:
        """All rows that are known."""
        self._enter()
        return self._table[: self._used]

    @property
    def forgotten(self) -> int:
        """Rows that are no longer known."""
        self._enter()
        return self._written - self._used

    def extend(self, rows: Iterable[Row] | NDArray[np.int64]) -> None:
        """Write rows."""
        if isinstance(rows, np.ndarray):
            self._enter()
            self._add(rows)
        else:
            self._fresh += rows
            if len(self._fresh) >= _FIRST:
                self._enter()

    def _enter(self) -> None:
        """Into the table what is not there yet: many rows at once, as each time costs more than a row."""
        if self._fresh:
            self._add(np.array(self._fresh, np.int64))
            self._fresh = []

    def _add(self, new: NDArray[np.int64]) -> None:
        if self.most is not None and self._used + len(new) > self.most:
            kept = self._table[self._used // 2 : self._used].copy()
            self._used = len(kept)
            self._table[: self._used] = kept
        while self._used + len(new) > len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[self._used : self._used + len(new)] = new
        self._used += len(new)
        self._written += len(new)

    def inherit(self, other: Ledger, first: int) -> None:
        """The rows of another ledger whose first number is at most `first`; forgotten there is so here."""
        self.extend(other.until(first))
        self._written += other.forgotten

    def until(self, first: int) -> NDArray[np.int64]:
        """The rows whose first number is at most `first`."""
        return self.rows[: np.searchsorted(self.rows[:, 0], first, "right")]

    def since(self, row: int) -> NDArray[np.int64]:
        """The rows from number `row` of all that were ever written."""
        self._enter()
        forgotten = self._written - self._used
        return self._table[max(0, row - forgotten) : self._used]
