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
        self._rows = np.zeros((_FIRST, width), np.int64)
        self.most = most
        self._used = 0
        self.total = 0  # rows ever written, forgotten ones too

    @property
    def rows(self) -> NDArray[np.int64]:
        """All rows that are known."""
        return self._rows[: self._used]

    @property
    def forgotten(self) -> int:
        """Rows that are no longer known."""
        return self.total - self._used

    def extend(self, rows: Iterable[Row] | NDArray[np.int64]) -> None:
        """Write rows."""
        new = rows if isinstance(rows, np.ndarray) else np.array([*rows], np.int64)
        if not len(new):
            return
        if self.most is not None and self._used + len(new) > self.most:
            kept = self.rows[self._used // 2 :].copy()
            self._used = len(kept)
            self._rows[: self._used] = kept
        while self._used + len(new) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self._used : self._used + len(new)] = new
        self._used += len(new)
        self.total += len(new)

    def inherit(self, other: Ledger, first: int) -> None:
        """The rows of another ledger whose first number is at most `first`; forgotten there is so here."""
        self.extend(other.until(first))
        self.total += other.forgotten

    def until(self, first: int) -> NDArray[np.int64]:
        """The rows whose first number is at most `first`."""
        return self._rows[: np.searchsorted(self._rows[: self._used, 0], first, "right")]

    def since(self, row: int) -> NDArray[np.int64]:
        """The rows from number `row` of all that were ever written."""
        return self.rows[max(0, row - self.forgotten) :]
