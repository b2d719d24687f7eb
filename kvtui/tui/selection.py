"""Which request is inspected, and in which lane; what the screen is told about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.frames.inspection import VIEWS, Inspected, block_life, inspect
from kvtui.tui.view.listing import Listing

ROWS = 10_000  # of the queues while a request is inspected or looked for


@dataclass(frozen=True)
class Choice:
    """`at` is the place in the block table of the request, `block` a block that is not (or no longer) its."""

    request: int
    lane: int
    at: int = 0
    block: int | None = None
    view: str = VIEWS[0]


class Selection:
    """The choice, and the moves that keys and mouse make with it."""

    def __init__(self) -> None:
        self.choice: Choice | None = None
        self.listing = Listing()
        self._shown: tuple[Choice, tuple[Frame, ...], Inspected] | None = None

    @property
    def all_rows(self) -> bool:
        """Whether the first rows of the queues do not suffice."""
        return self.choice is not None or not self.listing.plain

    def open(self, request: int, lane: int, *, block: int | None = None) -> None:
        """Inspect a request; the view stays as it was."""
        view = self.choice.view if self.choice is not None else VIEWS[0]
        self.choice = Choice(request, lane, block=block, view=view)

    def close(self) -> None:
        self.choice = self._shown = None

    def turn(self) -> None:
        """The next view: blocks, life."""
        if self.choice is not None:
            view = VIEWS[(VIEWS.index(self.choice.view) + 1) % len(VIEWS)]
            self.choice = replace(self.choice, view=view)

    def lane(self, lane: int) -> None:
        """The same request in another lane."""
        if self.choice is not None:
            self.choice = replace(self.choice, lane=lane, at=0, block=None)

    def next_block(self, by: int) -> None:
        """The next block of its table."""
        if self.choice is not None:
            self.choice = replace(self.choice, at=self.choice.at + by, block=None)

    def next_request(self, candidates: Sequence[int], by: int) -> None:
        """The next one of a list of requests; the first where the present one is not in it."""
        if self.choice is None or not candidates:
            return
        request = self.choice.request
        at = (candidates.index(request) + by) % len(candidates) if request in candidates else 0
        self.choice = replace(self.choice, request=candidates[at], at=0, block=None)

    def inspected(
        self, infos: Sequence[LaneInfo], chronicles: Sequence[Chronicle], frames: tuple[Frame, ...]
    ) -> Inspected | None:
        """What there is to tell of the choice; worked out once for the same frames."""
        choice = self.choice
        if choice is None:
            return None
        if self._shown is not None and self._shown[0] == choice and _same(self._shown[1], frames):
            return self._shown[2]
        found = tuple(
            inspect(info, frame, told, choice.request)
            for info, told, frame in zip(infos, chronicles, frames, strict=True)
        )
        mine, block = found[choice.lane], choice.block
        if block is None and mine.blocks:
            block = mine.blocks[choice.at % len(mine.blocks)]
        life = None if block is None else block_life(frames[choice.lane], chronicles[choice.lane], block)
        shown = Inspected(choice.request, choice.lane, found, life, choice.view)
        self._shown = choice, frames, shown
        return shown


def _same(some: tuple[Frame, ...], others: tuple[Frame, ...]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))
