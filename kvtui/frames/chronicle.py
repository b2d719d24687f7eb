"""The chronicle of a lane: everything that happened to its requests and to its blocks, by step.

It is written once, however often a part of the run is run again after going back: an engine does the same
again. What it tells is always as of a step, so it can be asked about any moment that has been reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.frame import Event, EventKind
from kvtui.frames.ledger import Ledger
from kvtui.memory.ops import Op, OpKind
from kvtui.units import seconds

KINDS = tuple(EventKind)
EVER = 1 << 62  # a step after all others
_STEP, _TIME, _KIND, _REQUEST, _A, _B = range(6)  # columns of events
_OWNER, _FIRST, _COUNT = 3, 4, 5  # columns of ops, behind the first three
_GONE = (OpKind.DROP, OpKind.FREE, OpKind.CACHE)
Keys = Callable[[int], Sequence[int]]


class Tenure(NamedTuple):
    """A time in which a request held a block; `until_s` is None as long as it does."""

    request: int
    since_s: float
    until_s: float | None
    shared: bool  # it found the block there, by prefix
    fate: str  # "", or what became of the block: freed, cached, evicted


class Chronicle:
    """Written by the camera of a lane or read from a recording; blocks are counted from 0."""

    def __init__(self, keys: Keys | None = None) -> None:
        self.events = Ledger(6)
        self.ops = Ledger(6)
        self.steps = Ledger(6)  # step, start and end in ps, steps in one, decodes, prompt tokens computed
        self.keys = keys or (lambda request: ())  # of the leading blocks that a request can share
        self._known = -1  # last step that is written
        self._arrived = 0

    def keep_all(self) -> None:
        """Forget nothing from now on, as long as memory lasts: for what tells a whole run."""
        for ledger in (self.events, self.ops, self.steps):
            ledger.most = None

    # ---- writing

    def arrival(self, count: int, event: tuple[int, int, EventKind, int, int, int]) -> None:
        """The `count`-th request came, (step, ps, kind, request, a, b)."""
        if count > self._arrived:
            self._arrived = count
            self.note([event])

    def note(self, events: Iterable[tuple[int, int, EventKind, int, int, int]]) -> None:
        """Events of a step that is not written yet."""
        self.events.extend(
            (step, ps, KINDS.index(kind), request, a, b) for step, ps, kind, request, a, b in events
        )

    def log(self, step: int, now_ps: int, ops: Iterable[Op], *, first: int) -> None:
        """Changes of blocks; `first` is the id of the first block."""
        self.ops.extend(row for op in ops for row in _runs(step, now_ps, op, first))

    def new(self, step: int) -> bool:
        """Whether a step is not written yet."""
        return step > self._known

    def close(self, step: int) -> None:
        """Everything of this step is written."""
        self._known = max(self._known, step)

    def inherit(self, other: Chronicle, step: int, *, arrived: int) -> None:
        """Begin with the story of another lane up to a step, by when so many requests had come; without its
        blocks."""
        self.events.inherit(other.events, step)
        self.steps.inherit(other.steps, step)
        self._known, self._arrived = step, arrived

    # ---- requests

    def story(self, step: int) -> Iterator[Event]:
        """Everything that happened to requests up to a step, oldest first."""
        for row in self.events.until(step).tolist():
            if KINDS[row[_KIND]] is not EventKind.QUEUE:
                yield _event(row)

    def life(self, request: int, step: int) -> list[Event]:
        """What happened to a request up to a step, oldest first."""
        rows = self.events.until(step)
        mine = (rows[:, _REQUEST] == request) & (rows[:, _KIND] != KINDS.index(EventKind.QUEUE))
        return [_event(row) for row in rows[mine].tolist()]

    def table(self, request: int, step: int) -> list[int]:
        """The blocks that a request holds after a step, in logical order."""
        rows = self.ops.until(step)
        table: dict[int, None] = {}
        for _, _, kind, _, first, count in rows[rows[:, _OWNER] == request].tolist():
            if kind == OpKind.COPY:
                table = _copied(table, source=first, target=count)
            elif kind in _GONE:
                for block in range(first, first + count):
                    table.pop(block, None)
            elif kind in (OpKind.TAKE, OpKind.SHARE):
                table.update(dict.fromkeys(range(first, first + count)))
        return list(table)

    # ---- blocks

    def tenures(self, block: int, step: int) -> list[Tenure]:
        """Who held a block up to a step and what became of it, in order of the beginning."""
        done: list[Tenure] = []
        for _, ps, kind, owner, _, _ in self._of_block(block, step).tolist():
            now = seconds(ps)
            if kind in (OpKind.TAKE, OpKind.SHARE):
                done.append(Tenure(owner, now, None, kind == OpKind.SHARE, ""))
            elif kind == OpKind.EVICT:
                _close(done, -1, None, "evicted")
            elif kind in _GONE:
                fate = {OpKind.FREE: "freed", OpKind.CACHE: "cached"}.get(OpKind(kind), "")
                _close(done, owner, now, fate)
        return done

    def holders(self, block: int, step: int) -> list[int]:
        """The requests that hold a block after a step."""
        return [tenure.request for tenure in self.tenures(block, step) if tenure.until_s is None]

    def _of_block(self, block: int, step: int) -> NDArray[np.int64]:
        rows = self.ops.until(step)
        inside = (rows[:, _FIRST] <= block) & (block < rows[:, _FIRST] + rows[:, _COUNT])
        found: NDArray[np.int64] = rows[inside & (rows[:, _KIND] != OpKind.COPY)]
        return found

    # ---- looking for moments

    def since(self, row: int, kinds: Iterable[EventKind]) -> list[Event]:
        """Events of these kinds from number `row` of all on."""
        rows = self.events.since(row)
        wanted = [KINDS.index(kind) for kind in kinds]
        return [_event(each) for each in rows[np.isin(rows[:, _KIND], wanted)].tolist()]

    def moments(self, kinds: Iterable[EventKind]) -> NDArray[np.int64]:
        """Times in ps at which the steps started in which something of these kinds happened, ascending."""
        wanted = [KINDS.index(kind) for kind in kinds]
        rows = self.events.rows
        times: NDArray[np.int64] = np.unique(rows[np.isin(rows[:, _KIND], wanted), _TIME])
        return times


def _event(row: Sequence[int]) -> Event:
    step, ps, kind, request, a, b = row
    return Event(seconds(ps), step, KINDS[kind], request, a, b)


def _runs(step: int, now_ps: int, op: Op, first: int) -> Iterator[tuple[int, ...]]:
    """An op as rows of consecutive blocks; a copy as (source, target) in the last two columns."""
    kind, owner, blocks = op
    if kind is OpKind.COPY:
        yield step, now_ps, kind, owner, blocks[0] - first, blocks[1] - first
        return
    start = end = blocks[0]
    for block in blocks:
        if block != end:
            yield step, now_ps, kind, owner, start - first, end - start
            start = end = block
        end += 1
    yield step, now_ps, kind, owner, start - first, end - start


def _copied(table: dict[int, None], *, source: int, target: int) -> dict[int, None]:
    """The table with a block replaced by its copy, which stands at the end as it has just been taken."""
    table.pop(target, None)
    return dict.fromkeys(target if block == source else block for block in table)


def _close(tenures: list[Tenure], owner: int, now: float | None, fate: str) -> None:
    """End the tenure of an owner that goes on; without a time, say what became of the last one."""
    for at in range(len(tenures) - 1, -1, -1):
        tenure = tenures[at]
        if now is None or (tenure.request == owner and tenure.until_s is None):
            tenures[at] = tenure._replace(until_s=tenure.until_s if now is None else now, fate=fate)
            return
