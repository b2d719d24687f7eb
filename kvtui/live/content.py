"""The cached content of one server from its event stream: whole, or marked as not whole.

Messages are numbered. One that is missing is asked for once more where the server keeps them (its replay
socket); where it does not, the map is `stale` until everything was cleared or the server has started anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from kvtui.live.kvevents import Batch, Cleared, ContentMap, Order, unpack

Replay = Callable[[int], Iterable[tuple[int, bytes]]]  # (number, payload) from a number on


class Content:
    """Takes messages in the order of their coming. `replay` gives older ones, None where nobody does."""

    def __init__(
        self,
        blocks: int,
        *,
        replay: Replay | None = None,
        decode: Callable[[bytes], Batch] = unpack,
    ) -> None:
        self.map = ContentMap(blocks)
        self.stale = True  # until the first batch turns out to be number 0, or everything is cleared
        self.lost = 0  # batches that nobody could give again
        self.unreadable = 0
        self._order = Order()
        self._replay = replay
        self._decode = decode

    def start(self) -> None:
        """Ask for everything that the server still has."""
        if self._replay is not None:
            self._again(0)

    def take(self, number: int, payload: bytes) -> None:
        """One message, whatever came before it."""
        batch = self._decoded(payload)
        if batch is None:
            return
        if self._order.restarted(number, batch.time_s):
            self.map.clear()
            self._order.forget()
            self.stale = True
            if self._replay is not None:
                self._again(0, before=number)  # what the new one said before this
        missing = self._order.missing(number)
        if missing and self._replay is not None:
            self._again(missing.start, before=number)
            missing = self._order.missing(number)
        if missing:
            self.lost += len(missing)
            self.stale = True
        self._apply(number, batch)

    def taken(self) -> NDArray[np.bool_]:
        """Cells that hold cached content."""
        return self.map.taken()

    def _again(self, start: int, *, before: int | None = None) -> None:
        assert self._replay is not None
        for number, payload in self._replay(start):
            if before is not None and number >= before:
                return
            batch = self._decoded(payload)
            if batch is not None and not self._order.missing(number):
                self._apply(number, batch)

    def _decoded(self, payload: bytes) -> Batch | None:
        try:
            return self._decode(payload)
        except ValueError:
            self.unreadable += 1
            self.stale = True
            return None

    def _apply(self, number: int, batch: Batch) -> None:
        if not self._order.take(number, batch.time_s):
            return
        self.map.apply(batch.changes)
        if number == 0 or any(isinstance(change, Cleared) for change in batch.changes):
            self.stale = False
