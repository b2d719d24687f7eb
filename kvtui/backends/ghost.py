"""The ghost pool: what each slot of KV memory should hold, replayed from the op log alone.

Counting references cannot see a wrong block in a table. So every slot holds a number that stands for the
whole prefix whose K/V belongs there; the ops of a manager and the writes of the model are replayed in order,
and every scheduled request reads its whole context back through its block table. One wrong number is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtui.memory.forks import ForkingMemoryManager
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.layernames import STATES
from kvtui.memory.ops import Op, OpKind, OpLog
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request

Contents = NDArray[np.int64]
POISON = -1  # of a slot that nobody has written since its block was handed out


class GhostPool:
    """Contents of `blocks` blocks of `block_size` slots at most, and of `host` blocks in host memory; ids as
    in block tables (0 or 1 based)."""

    def __init__(self, blocks: int, block_size: int, *, host: int = 0) -> None:
        self._slots = np.full((blocks + 1, block_size), POISON, np.int64)
        self._host = np.full((host + 1, block_size), POISON, np.int64)
        self._size = block_size

    def replay(self, ops: Iterable[Op]) -> None:
        """Take in what a manager did, in order."""
        for kind, _, blocks in ops:
            if kind is OpKind.TAKE or kind is OpKind.FREE:
                self._slots[np.asarray(blocks)] = POISON
            elif kind is OpKind.COPY:
                source, target = blocks
                self._slots[target] = self._slots[source]
            elif kind is OpKind.OUT:
                source, target = blocks
                self._host[target] = self._slots[source]
            elif kind is OpKind.IN:
                source, target = blocks
                self._slots[target] = self._host[source]
                self._host[source] = POISON

    def write(self, rows: Sequence[int], start: int, contents: Contents, *, size: int | None = None) -> None:
        """Store tokens [start, start + len(contents)) of a request whose units are `rows`, of `size` tokens
        where not the widest."""
        at, size = np.arange(start, start + len(contents)), size or self._size
        self._slots[np.asarray(rows, np.int64)[at // size], at % size] = contents

    def read(self, rows: Sequence[int], upto: int, *, start: int = 0, size: int | None = None) -> Contents:
        """What tokens [start, upto) of a request read."""
        at, size = np.arange(start, upto), size or self._size
        return self._slots[np.asarray(rows, np.int64)[at // size], at % size]


class View(NamedTuple):
    """Memory of a request as one group of layers sees it."""

    rows: Sequence[int]  # physical units in logical order
    size: int  # tokens a unit
    salt: int  # what tells its contents from those of other groups
    window: int | None = None  # tokens that are looked at; None = all
    state: bool = False  # only what stands for the last token is kept, and read by the next one


class Mismatch(AssertionError):
    """A request read something that is not its own context."""


class Ghost:
    """What requests of one manager store and read, step by step. `truth` gives the contents that the tokens
    of a request stand for, at least as many as it will store."""

    def __init__(self, manager: MemoryManager, truth: Callable[[Request], Contents]) -> None:
        host = manager.host_blocks if isinstance(manager, ForkingMemoryManager) else 0
        self.pool = GhostPool(manager.blocks, _largest(manager), host=host)
        self._truth = truth
        self.reads = 0  # slots compared

    def step(self, engine: Engine, plan: Plan) -> None:
        """A step whose ops were replayed: store what it computes, read all that it sees. Raises Mismatch."""
        chunks = chunks_of(engine, plan)
        for request, (start, _) in chunks.items():
            self._check_states(engine, request, start)
        for request, (start, n) in chunks.items():
            for view in views(engine, request):
                for first, end in _written(request, view, start, start + n):
                    contents = self._truth(request)[first:end] + view.salt
                    self.pool.write(view.rows, first, contents, size=view.size)
        for request, (start, n) in chunks.items():
            self._check(engine, request, start, start + n)

    def _check(self, engine: Engine, request: Request, start: int, upto: int) -> None:
        truth = self._truth(request)[:upto]  # drafts past the last token mean nothing
        for rows, size, salt, window, state in views(engine, request):
            if state:
                continue
            first = 0 if window is None else max(0, start - window + 1)
            got = self.pool.read(rows, len(truth), start=first, size=size)
            wrong = np.flatnonzero(got != truth[first:] + salt)
            self.reads += len(got)
            if len(wrong):
                raise Mismatch(f"request {request.number} reads a wrong slot at token {first + wrong[0]}")

    def _check_states(self, engine: Engine, request: Request, start: int) -> None:
        """Whether a request finds the states that the `start` tokens before its next one have led to."""
        for view in views(engine, request):
            if view.state and start:
                got = self.pool.read(view.rows, start, start=start - 1, size=view.size)
                self.reads += 1
                if got[0] != self._truth(request)[start - 1] + view.salt:
                    raise Mismatch(f"request {request.number} goes on from a wrong state at token {start}")


class GhostObserver:
    """Watches an engine and raises Mismatch at the first wrong read; `truth` as of `Ghost`."""

    def __init__(self, engine: Engine, truth: Callable[[Request], Contents]) -> None:
        self._log = engine.manager.log = OpLog()
        self._ghost = Ghost(engine.manager, truth)
        self._truth = truth
        engine.observer = self

    @property
    def reads(self) -> int:
        """Slots compared."""
        return self._ghost.reads

    def arrived(self, engine: Engine, request: Request) -> None:
        pass

    def rejected(self, engine: Engine, request: Request) -> None:
        pass

    def aborted(self, engine: Engine, request: Request) -> None:
        pass

    def idle(self, engine: Engine) -> None:
        pass

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        self._ghost.pool.replay(self._log.drain())
        self._ghost.step(engine, plan)

    def updated(self, engine: Engine, plan: Plan) -> None:
        pool = self._ghost.pool
        pool.replay(self._log.drain())
        if plan.forks and isinstance(self._truth, Stories):
            self._truth.fork(plan.forks)
        for request, n in plan.rejected.items():
            if request.phase is Phase.RUNNING and not request.inflight:
                for view in views(engine, request):
                    wrong = np.full(n, POISON, np.int64)
                    pool.write(view.rows, request.computed, wrong, size=view.size)


def _written(request: Request, view: View, start: int, end: int) -> list[tuple[int, int]]:
    """Ranges of tokens that a step over [start, end) stores something for."""
    if not view.state:
        return [(start, end)]
    ends = [end] if request.checkpoint is None else [request.checkpoint[0], end]
    return [(at - 1, at) for at in ends]


def chunks_of(engine: Engine, plan: Plan) -> dict[Request, tuple[int, int]]:
    """What a step computes: for every scheduled request the tokens stored before, and how many more."""
    chunks = {r: (start, n) for r, start, n in plan.prefill}
    for request in set(engine.scheduler.running.values()) - set(plan.hungry):
        if not request.chunking:
            chunks[request] = request.stored(plan.step), plan.steps
    return chunks


def views(engine: Engine, request: Request) -> list[View]:
    """The memory of a running request, once for each group of layers."""
    size = engine.manager.block_size
    if request.reserved:
        return [View(range(request.taken, request.taken + request.reserved // size), size, 0)]
    tables, manager = request.all_tables, engine.manager
    if not isinstance(manager, GroupedMemoryManager):
        return [View(table, size, salt) for salt, table in enumerate(tables)]
    followed = not engine.rules.speculation.tokens  # which state a draft leads to is not followed
    return [
        View(table, group.size, salt, group.window, group.name in STATES)
        for salt, (table, group) in enumerate(zip(tables, manager.groups, strict=True))
        if followed or group.name not in STATES
    ]


def _largest(manager: MemoryManager) -> int:
    """Tokens that a block of any group of layers holds at most."""
    groups = manager.groups if isinstance(manager, GroupedMemoryManager) else ()
    return max([group.size for group in groups], default=manager.block_size)


def contents_of(request: Request, block_size: int) -> Contents:
    """Contents by block keys: equal keys are equal prefixes, all else belongs to the request alone."""
    at = np.arange(request.prompt + request.output)
    contents = (request.number + 1 << 32) + at
    for block, key in enumerate(request.keys):
        part = slice(block * block_size, (block + 1) * block_size)
        contents[part] = (key + 1 << 16) + np.arange(len(contents[part]))
    return contents


class Remembered:
    """Contents that are worked out once for every request that has not ended."""

    def __init__(self, truth: Callable[[Request], Contents]) -> None:
        self._truth = truth
        self._known: dict[Request, Contents] = {}

    def __call__(self, request: Request) -> Contents:
        """What the tokens of a request stand for."""
        contents = self._known.get(request)
        if contents is None:
            ended = (Phase.FINISHED, Phase.ABORTED)
            self._known = {r: known for r, known in self._known.items() if r.phase not in ended}
            contents = self._known[request] = self._truth(request)
        return contents


class Stories:
    """Contents for requests with several sequences: each goes its own way from where it was forked."""

    def __init__(self, block_size: int) -> None:
        self._size = block_size
        self._known: dict[tuple[int, int], Contents] = {}  # of each (request, sequence)
        self._forks = 0

    def __call__(self, request: Request) -> Contents:
        """What the tokens of a sequence stand for."""
        name = request.number, request.sequence
        if name not in self._known:
            self._known[name] = contents_of(request, self._size)
        return self._known[name]

    def fork(self, moves: Iterable[tuple[Request, Request, int]]) -> None:
        """Each (sequence, parent, stored) goes on from what the parent has stored, all at the same time, with
        a token of its own."""
        before = [(sequence, self(parent).copy(), stored) for sequence, parent, stored in moves]
        for sequence, contents, stored in before:
            self._forks += 1
            contents[stored:] = -(self._forks << 32) - np.arange(len(contents) - stored) - 2
            self._known[sequence.number, sequence.sequence] = contents

    def forget(self, request: Request) -> None:
        """A request has ended, with all its sequences."""
        for sequence in request.siblings or (request,):
            self._known.pop((sequence.number, sequence.sequence), None)
