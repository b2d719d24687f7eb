"""A request, or a block, of a lane at a moment: what an inspector tells, from a frame and a chronicle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

import numpy as np

from kvtui.frames.chronicle import EVER, Chronicle, Tenure
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Cell, Event, EventKind, Frame, WaitingRow

VIEWS = ("blocks", "life")


class Stand(Enum):
    """How far a request has come."""

    UNKNOWN = "unknown"  # its beginning is forgotten, or a server does not tell
    COMING = "not arrived"
    WAITING = "waiting"
    PREEMPTED = "preempted"
    RUNNING = "running"
    FINISHED = "finished"
    REJECTED = "rejected"


_AFTER = {
    EventKind.ARRIVED: Stand.WAITING,
    EventKind.ADMITTED: Stand.RUNNING,
    EventKind.PREEMPTED: Stand.PREEMPTED,
    EventKind.SWAPPED: Stand.PREEMPTED,
    EventKind.RESTARTED: Stand.PREEMPTED,
    EventKind.FINISHED: Stand.FINISHED,
    EventKind.REJECTED: Stand.REJECTED,
}


@dataclass(frozen=True)
class Inspection:
    """A request in one lane. Blocks are in logical order; `others` says with whom a shared one is shared."""

    request: int
    stand: Stand
    life: tuple[Event, ...]
    blocks: tuple[int, ...]
    filled: tuple[int, ...]  # slots of each block
    refs: tuple[int, ...]
    keys: tuple[int | None, ...]  # None = content that nobody else can meet, or not known
    others: dict[int, tuple[int, ...]]
    why: str  # it waits, or is unknown to a server's lane; "" where it does not
    forgotten: int = 0  # events of the lane's beginning that are no longer known

    @property
    def stored(self) -> int:
        """Slots filled."""
        return sum(self.filled)


@dataclass(frozen=True)
class BlockLife:
    """A block of one lane."""

    block: int
    state: Cell
    filled: int
    tenures: tuple[Tenure, ...]


@dataclass(frozen=True)
class Inspected:
    """What an inspector shows: a request in each lane, and a block of lane `lane`."""

    request: int
    lane: int
    lanes: tuple[Inspection, ...]
    block: BlockLife | None = None
    view: str = VIEWS[0]

    @property
    def mine(self) -> Inspection:
        return self.lanes[self.lane]


def inspect(info: LaneInfo, frame: Frame, chronicle: Chronicle, request: int) -> Inspection:
    """The request as the frame shows it; `frame` needs the rows of the whole queue to tell why it waits."""
    step = as_of(frame)
    life = chronicle.life(request, step)
    blocks = chronicle.table(request, step)
    cells = frame.cells
    keys = chronicle.keys(request)
    shared = [block for block in blocks if cells.refs[block] > 1]
    stand = _stand(life, chronicle, request)
    if info.label == "live" and not life and not blocks:
        stand = Stand.UNKNOWN
    return Inspection(
        request=request,
        stand=stand,
        life=tuple(life),
        blocks=tuple(blocks),
        filled=tuple(cells.stored[blocks].tolist()),
        refs=tuple(cells.refs[blocks].tolist()),
        keys=tuple(keys[at] if at < len(keys) else None for at in range(len(blocks))),
        others={
            block: tuple(who for who in chronicle.holders(block, step) if who != request) for block in shared
        },
        why=_why(info, frame, request, stand),
        forgotten=chronicle.events.forgotten,
    )


def block_life(frame: Frame, chronicle: Chronicle, block: int) -> BlockLife:
    """Who held the block until now, and what it holds."""
    cells = frame.cells
    return BlockLife(
        block,
        Cell(int(cells.state[block])),
        int(cells.stored[block]),
        tuple(chronicle.tenures(block, as_of(frame))),
    )


def as_of(frame: Frame) -> int:
    """The step up to which a chronicle tells what a frame shows."""
    return EVER if frame.done else frame.step


def runs(blocks: Sequence[int]) -> list[tuple[int, int, int]]:
    """A block table in short: (first logical, first physical, how many follow each other)."""
    found = []
    for _, group in groupby(enumerate(blocks), key=lambda pair: pair[1] - pair[0]):
        pairs = list(group)
        found.append((pairs[0][0], pairs[0][1], len(pairs)))
    return found


def _stand(life: Sequence[Event], chronicle: Chronicle, request: int) -> Stand:
    known = [_AFTER[event.kind] for event in life if event.kind in _AFTER]
    if known:
        return known[-1]
    forgotten = chronicle.events.forgotten and not _arrives(chronicle.life(request, EVER))
    return Stand.UNKNOWN if forgotten else Stand.COMING


def _arrives(life: Sequence[Event]) -> bool:
    return any(event.kind is EventKind.ARRIVED for event in life)


def _why(info: LaneInfo, frame: Frame, request: int, stand: Stand) -> str:
    """Why a request is still waiting, or unknown, in a sentence; "" where there is nothing to explain."""
    if stand is Stand.UNKNOWN and info.label == "live":
        return "A server does not publish which requests it has."
    if stand not in (Stand.WAITING, Stand.PREEMPTED):
        return ""
    place = next((at for at, row in enumerate(frame.waiting) if row.request == request), None)
    if place is None:
        return "It has not been looked at yet: it arrived after the last step."
    head = frame.waiting[0]
    if place == 0:
        return f"It is next, {_obstacle(info, frame, head)}."
    before = "1 request stands" if place == 1 else f"{place:,} requests stand"
    return f"{before} before it: r{head.request} is next, {_obstacle(info, frame, head)}."


def _obstacle(info: LaneInfo, frame: Frame, head: WaitingRow) -> str:
    """What keeps the next request out."""
    free = np.isin(frame.cells.state, (Cell.FREE, Cell.CACHED, Cell.HOLE))
    if info.manager == "contiguous":
        needed = info.region_blocks or -(-head.tokens // info.block_size)
        largest = _longest(free)
        if largest < needed:
            return f"but needs {needed:,} free blocks in a row and the longest free stretch has {largest:,}"
    else:
        needed, there = -(-head.tokens // info.block_size), int(free.sum())
        if there < needed:
            return f"but needs {needed:,} blocks for its {head.tokens:,} tokens and {there:,} are free"
    return "and there is room: it comes in with the next step that has a place and tokens left"


def _longest(free: np.ndarray) -> int:
    """The longest stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], free, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))
