"""The phase wheel: who needs a block in which step, without looking at anybody else.

A decode stores one token a step, so the steps in which it needs a new block are congruent modulo the block
size. Each decoding request stands in one of `period` slots; a step looks at one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from itertools import chain

from kvtui.serving.request import Request


class PhaseWheel:
    """Decoding requests by the phase of their block boundary, each slot in batch order."""

    def __init__(self, period: int) -> None:
        self.period = period
        self.count = 0
        self.sizes = [0] * (2 * period)  # of the views
        self._latest = -1  # order of the last one in the batch that has ever entered
        self._slots: list[dict[int, Request]] = [{} for _ in range(period)]
        self.views = self._two_turns()  # one a step

    def _two_turns(self) -> list[ValuesView[Request]]:
        """Any span of one turn is one slice of this."""
        views: list[ValuesView[Request]] = [slot.values() for slot in self._slots]
        return views + views

    def __getstate__(self) -> tuple[int, int, list[int], int, list[dict[int, Request]]]:
        return self.period, self.count, self.sizes, self._latest, self._slots  # views cannot be pickled

    def __setstate__(self, state: tuple[int, int, list[int], int, list[dict[int, Request]]]) -> None:
        self.period, self.count, self.sizes, self._latest, self._slots = state
        self.views = self._two_turns()

    def enter(self, request: Request) -> None:
        """From now on the request needs a block whenever (offset + step) is a multiple of the period."""
        at, order = -request.offset % self.period, request.order
        slot = self._slots[at]
        out_of_order = order < self._latest and bool(slot) and next(reversed(slot)) > order
        slot[order] = request
        self.count += 1
        self.sizes[at] += 1
        self.sizes[at + self.period] += 1
        if order > self._latest:
            self._latest = order
        elif out_of_order:
            items = sorted(slot.items())
            slot.clear()
            slot.update(items)

    def leave(self, request: Request) -> None:
        """Take the request out; `order` and `offset` must be those it entered with."""
        at = -request.offset % self.period
        del self._slots[at][request.order]
        self.count -= 1
        self.sizes[at] -= 1
        self.sizes[at + self.period] -= 1

    def has(self, request: Request) -> bool:
        """Whether the request stands in the wheel under its present order and offset."""
        return request.order in self._slots[-request.offset % self.period]

    def all(self) -> Iterator[Request]:
        """Everybody in the wheel."""
        return chain.from_iterable(self.views[: self.period])

    def at(self, step: int) -> ValuesView[Request]:
        """The requests whose boundary is in `step`, in batch order."""
        return self.views[step % self.period]

    def span(self, step: int, steps: int) -> list[ValuesView[Request]]:
        """One view a step for so many steps, or at least for one turn."""
        at = step % self.period
        return self.views[at : at + steps]


def affordable(sizes: list[int], free: int) -> tuple[int, int]:
    """How many leading steps of the given sizes `free` blocks pay for, and how many blocks they take."""
    total = 0
    for steps, size in enumerate(sizes):
        if total + size > free:
            return steps, total
        total += size
    raise AssertionError("everything is affordable")
