"""The ghost pool: what each slot of KV memory should hold, replayed from the op log alone.

Counting references cannot see a wrong block in a table. So every slot holds a number that stands for the
whole prefix whose K/V belongs there; the ops of a manager and the writes of the model are replayed in order,
and every scheduled request reads its whole context back through its block table. One wrong number is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from kvtui.engine import Engine
from kvtui.memory.ops import Op, OpKind, OpLog
from kvtui.plan import Plan
from kvtui.request import Request

Contents = NDArray[np.int64]
POISON = -1  # of a slot that nobody has written since its block was handed out


class GhostPool:
    """Contents of `blocks` blocks of `block_size` slots; ids as in block tables (0 or 1 based alike)."""

    def __init__(self, blocks: int, block_size: int) -> None:
        self._slots = np.full((blocks + 1, block_size), POISON, np.int64)
        self._size = block_size

    def replay(self, ops: Iterable[Op]) -> None:
        """Take in what a manager did, in order."""
        for kind, _, blocks in ops:
            if kind is OpKind.TAKE or kind is OpKind.FREE:
                self._slots[np.asarray(blocks)] = POISON
            elif kind is OpKind.COPY:
                source, target = blocks
                self._slots[target] = self._slots[source]

    def write(self, rows: list[int], start: int, contents: Contents) -> None:
        """Store tokens [start, start + len(contents)) of a request whose units are `rows`."""
        at = np.arange(start, start + len(contents))
        self._slots[np.asarray(rows)[at // self._size], at % self._size] = contents

    def read(self, rows: list[int], upto: int) -> Contents:
        """What tokens [0, upto) of a request read."""
        at = np.arange(upto)
        return self._slots[np.asarray(rows, np.int64)[at // self._size], at % self._size]


class Mismatch(AssertionError):
    """A request read something that is not its own context."""


class GhostObserver:
    """Watches an engine and raises Mismatch at the first wrong read. `truth` gives the contents that the
    tokens of a request stand for, at least as many as it will store."""

    def __init__(self, engine: Engine, truth: Callable[[Request], Contents]) -> None:
        manager = engine.manager
        self._log = manager.log = OpLog()
        self._pool = GhostPool(manager.blocks, manager.block_size)
        self._truth = truth
        self.reads = 0  # slots compared
        engine.observer = self

    def arrived(self, engine: Engine, request: Request) -> None:
        pass

    def rejected(self, engine: Engine, request: Request) -> None:
        pass

    def aborted(self, engine: Engine, request: Request) -> None:
        pass

    def idle(self, engine: Engine) -> None:
        pass

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        self._pool.replay(self._log.drain())
        chunks = {r: (start, n) for r, start, n in plan.prefill}
        for request in set(engine.scheduler.running.values()) - set(plan.hungry):
            if request.chunking:
                if request not in chunks:
                    continue
            else:
                chunks[request] = request.stored(plan.step), plan.steps
        for request, (start, n) in chunks.items():
            self._pool.write(rows(engine, request), start, self._truth(request)[start : start + n])
        for request, (start, n) in chunks.items():
            self._check(engine, request, start + n)

    def updated(self, engine: Engine, plan: Plan) -> None:
        self._pool.replay(self._log.drain())

    def _check(self, engine: Engine, request: Request, upto: int) -> None:
        got = self._pool.read(rows(engine, request), upto)
        wrong = np.flatnonzero(got != self._truth(request)[:upto])
        self.reads += upto
        if len(wrong):
            raise Mismatch(f"request {request.number} reads a wrong slot at token {wrong[0]}")


def rows(engine: Engine, request: Request) -> list[int]:
    """Physical units of a request in logical order."""
    if request.reserved:
        return list(range(request.taken, request.taken + request.reserved // engine.manager.block_size))
    return request.table


def contents_of(request: Request, block_size: int) -> Contents:
    """Contents by block keys: equal keys are equal prefixes, all else belongs to the request alone."""
    at = np.arange(request.prompt + request.output)
    contents = (request.number + 1 << 32) + at
    for block, key in enumerate(request.keys):
        part = slice(block * block_size, (block + 1) * block_size)
        contents[part] = (key + 1 << 16) + np.arange(len(contents[part]))
    return contents
