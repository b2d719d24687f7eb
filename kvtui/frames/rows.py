"""Rows of a frame that become objects only when somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.frame import WaitingRow
from kvtui.units import seconds

Row = TypeVar("Row")
Numbers = NDArray[np.int64]  # a table, a row for each


class Rows(Sequence[Row]):
    """A table of whole numbers, each row of which `make` turns into what is read; equal to any sequence of
    the same rows. Nobody writes to `numbers` any more."""

    __slots__ = ("_make", "numbers")

    def __init__(self, numbers: Numbers, make: Callable[[Sequence[int]], Row]) -> None:
        self.numbers = numbers
        self._make = make

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Row]:
        return map(self._make, self.numbers.tolist())

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Rows[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | Rows[Row]:
        if isinstance(at, slice):
            return Rows(self.numbers[at], self._make)
        return self._make(self.numbers[at].tolist())

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


class WaitingAt:
    """Makes the rows of a queue at a time: request, tokens, arrival in ps, whether it was preempted."""

    __slots__ = ("_now_ps",)

    def __init__(self, now_ps: int) -> None:
        self._now_ps = now_ps

    def __call__(self, row: Sequence[int]) -> WaitingRow:
        request, tokens, arrival, preempted = row
        return WaitingRow(request, tokens, seconds(self._now_ps - arrival), bool(preempted))
