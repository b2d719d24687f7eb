"""Run cells on any executor, whatever happens to its workers.

A cell catches its own errors, so an exception that comes back means that a worker died under it. The cell
then runs again alone; a second death while it is alone names it as the culprit, and it is skipped. Cells that
only shared a broken pool are not blamed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from kvtui.sweep.cell import Cell, Result, run_cell
from kvtui.sweep.ledger import Ledger

ATTEMPTS = 2  # deaths, the last of them alone, before a cell is given up
Work = Callable[[Cell], Result]
Done = Callable[[Cell, Result], None]


class Slot:
    """Runs one cell at a time. Slots may share an executor; a broken one is replaced for all of them."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool


class Pool:
    """An executor that can be made again; `width` cells at once. `done` is called when all is over."""

    def __init__(
        self, make: Callable[[], Executor], width: int = 1, *, done: Callable[[], object] | None = None
    ) -> None:
        self._make = make
        self._done = done
        self._executor: Executor | None = None
        self.slots = [Slot(self) for _ in range(width)]

    def submit(self, work: Work, cell: Cell) -> Future[Result]:
        if self._executor is None:
            self._executor = self._make()
        return self._executor.submit(work, cell)

    def renew(self) -> None:
        """Let go of the executor; the next cell gets a new one."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)  # all that every executor understands
            self._executor = None

    def close(self) -> None:
        """No more cells."""
        self.renew()
        if self._done is not None:
            self._done()


class Runner:
    """`run` returns when every cell has a result in the ledger."""

    def __init__(
        self, pools: list[Pool], ledger: Ledger, *, work: Work = run_cell, done: Done | None = None
    ) -> None:
        self._pools = pools
        self._ledger = ledger
        self._work = work
        self._done = done
        self._deaths: dict[str, int] = {}
        self._suspects: deque[Cell] = deque()  # run with nothing else in their pool
        self._in_flight: dict[Future[Result], tuple[Cell, Slot]] = {}

    def run(self, cells: Iterable[Cell]) -> None:
        """Cells that the ledger has are not run again."""
        waiting = deque(cell for cell in cells if cell.key not in self._ledger.results)
        free = deque(slot for pool in self._pools for slot in pool.slots)
        try:
            if waiting:
                self._ledger.open()  # what cannot be kept is not computed
            while waiting or self._suspects or self._in_flight:
                self._start(waiting, free)
                finished, _ = wait(self._in_flight, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._collect(future, free)
        finally:
            for future in self._in_flight:  # left only by an interruption
                future.cancel()
            for pool in self._pools:
                pool.close()
            self._ledger.close()

    def _start(self, waiting: deque[Cell], free: deque[Slot]) -> None:
        for _ in range(len(free)):
            slot = free.popleft()
            busy = any(other.pool is slot.pool for _, other in self._in_flight.values())
            if self._suspects and not busy:
                cell = self._suspects.popleft()
            elif waiting and not self._alone(slot) and not (self._suspects and len(slot.pool.slots) > 1):
                cell = waiting.popleft()
            else:
                free.append(slot)
                continue
            self._in_flight[self._submit(slot, cell)] = cell, slot

    def _alone(self, slot: Slot) -> bool:
        """Whether a suspect runs in this pool, so that nothing may join it."""
        return any(
            other.pool is slot.pool and self._deaths.get(cell.key) for cell, other in self._in_flight.values()
        )

    def _submit(self, slot: Slot, cell: Cell) -> Future[Result]:
        try:
            return slot.pool.submit(self._work, cell)
        except Exception:  # the pool broke since: once more on a new one
            slot.pool.renew()
            return slot.pool.submit(self._work, cell)

    def _collect(self, future: Future[Result], free: deque[Slot]) -> None:
        cell, slot = self._in_flight.pop(future)
        free.append(slot)
        try:
            result = future.result()
        except Exception as error:
            self._died(cell, slot, error)
        else:
            self._finish(cell, result)

    def _died(self, cell: Cell, slot: Slot, error: Exception) -> None:
        shared = any(other.pool is slot.pool for _, other in self._in_flight.values())
        deaths = self._deaths[cell.key] = self._deaths.get(cell.key, 0) + 1
        if not shared:
            slot.pool.renew()
        if deaths >= ATTEMPTS and not shared:
            reason = f"its worker died {ATTEMPTS} times: {type(error).__name__}"
            self._finish(cell, {"status": "failed", "reason": reason})
        else:
            self._suspects.append(cell)

    def _finish(self, cell: Cell, result: Result) -> None:
        self._ledger.add(cell, result)
        if self._done:
            self._done(cell, result)
