"""The numbered messages of a publisher of KV events: in their order, each once; what is missing is told.

One that is missing is asked for once more where the server keeps them (its replay socket).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from kvtui.live.kvevents import Batch, unpack

Replay = Callable[[int], Iterable[tuple[int, bytes]]]  # (number, payload) from a number on


class Taker(Protocol):
    """Who is told of them."""

    def take(self, number: int, batch: Batch) -> None:
        """The next batch."""
        ...

    def gap(self) -> None:
        """Something before what comes next is missing."""
        ...

    def anew(self) -> None:
        """The publisher has started anew: it knows nothing of what it said before."""
        ...


class Batches:
    """Takes messages in the order of their coming. `replay` gives older ones, None where nobody does."""

    def __init__(
        self,
        taker: Taker,
        *,
        replay: Replay | None = None,
        decode: Callable[[bytes], Batch] = unpack,
    ) -> None:
        self.taken = 0
        self.lost = 0  # batches that nobody could give again
        self.unreadable = 0
        self._taker = taker
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
            self._taker.anew()
            self._order.forget()
            if self._replay is not None:
                self._again(0, before=number)  # what the new one said before this
        missing = self._order.missing(number)
        if missing and self._replay is not None:
            self._again(missing.start, before=number)
            missing = self._order.missing(number)
        if missing:
            self.lost += len(missing)
            self._taker.gap()
        self._apply(number, batch)

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
            self._taker.gap()
            return None

    def _apply(self, number: int, batch: Batch) -> None:
        if self._order.take(number, batch.time_s):
            self.taken += 1
            self._taker.take(number, batch)


class Order:
    """Watches the numbers of batches: which are new, which were seen, what is missing between."""

    def __init__(self) -> None:
        self.next: int | None = None  # None: anything may come
        self._time_s = 0.0

    def restarted(self, number: int, time_s: float) -> bool:
        """Whether the publisher counts from the start again: an old number with a new time."""
        return self.next is not None and number < self.next and time_s > self._time_s

    def missing(self, number: int) -> range:
        """Numbers that should have come before this one."""
        return range(self.next, number) if self.next is not None and number > self.next else range(0)

    def take(self, number: int, time_s: float) -> bool:
        """Note a batch; False for one that was seen before."""
        if self.next is not None and number < self.next:
            return False
        self.next, self._time_s = number + 1, time_s
        return True

    def forget(self) -> None:
        self.next = None
