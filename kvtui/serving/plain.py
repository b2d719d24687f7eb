"""Plain rounds of synchronous scheduling: full steps in which prompts come in beside the decodes.

Who has to give way by priority is left to the scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.admitting import AdmittingRounds
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.serving.rounds import alone
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.tally import Part

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine


class PlainRounds(AdmittingRounds):
    """Rounds of an engine whose scheduler sees the result of a step before it decides the next."""

    def __init__(self, engine: Engine, scheduler: Scheduler, manager: PagedMemoryManager) -> None:
        super().__init__(engine, scheduler, manager, manager.pool, manager.wheel, manager.hot)
        self._paged = manager

    def _step(self) -> bool:
        """A full step: everybody decodes, and prompts come in as far as there is room."""
        engine, scheduler = self._engine, self._scheduler
        left = scheduler.rules.token_budget - len(scheduler.running) + len(scheduler._chunking)
        preemptions = scheduler.preemptions
        parts = self._go_on(left)
        if parts is None:
            return False
        decodes = len(scheduler.running) - len(scheduler._chunking)
        hits: Sequence[tuple[Request, int]] = ()
        if scheduler.preemptions > preemptions:
            scheduler.blocked, scheduler._wish, scheduler._tried = False, None, None
        else:
            hits = self._admissions(parts, left - parts[0][2] if parts else left)
        context = scheduler._offsets + decodes * (scheduler.step + 1)
        engine.now_ps += self._measured(decodes, context, parts, hits, context)
        engine._tokens += decodes
        scheduler.step += 1
        if decodes or parts or scheduler.preemptions > preemptions:
            engine._idle = 0
        else:
            engine._count_idle()
        ending = self._fill(parts)
        if ending or (self._heap and self._heap[0][0] < scheduler.step):
            self._end_due(ending)
        return True

    def _go_on(self, left: int) -> list[Part] | None:
        """Blocks for those who run: decodes, and the next part of a prompt, with `left` tokens for it; None
        (no effect) where it is not as plain."""
        scheduler, pool, more = self._scheduler, self._pool, 0
        parts: list[Part] = []
        takers = self._views[scheduler.step % self._size]
        for request in scheduler._chunking:
            n = min(request.prompt + request.generated - request.computed, left)
            assert n > 0  # in the step before it got a token, and so did each that decodes now
            more = -(-(request.computed + n) // self._size) - len(request.table)
            parts.append((request, request.computed, n))
        if len(takers) + more > pool.free:
            return None if self._urgent else self._give_way(parts, more)
        if takers:
            for taker, block in zip(takers, pool.take(len(takers))):  # noqa: B905
                taker.table.append(block)
        if self._hot.count:
            self._publish(scheduler.step, 1)
        for request, start, n in parts:
            self._extend(request, start, n, more)
        return parts

    def _give_way(self, parts: list[Part], more: int) -> list[Part]:
        """Those who begin a block get one in the order of the batch, at the cost of the last of it; a prompt
        that lacks room for its next part, `more` blocks, gives way itself. Gives the parts of who stays."""
        scheduler, pool, plan = self._scheduler, self._pool, Plan(self._scheduler.step)
        running = scheduler.running
        for taker in list(self._views[scheduler.step % self._size]):
            while not pool.free and taker.order >= 0:
                scheduler._preempt(plan, next(reversed(running.values())), taker, 0)
            if taker.order >= 0:
                taker.table += pool.take(1)
        if self._hot.count:
            self._publish(scheduler.step, 1)
        for request, start, n in parts:
            if request.order >= 0 and more > pool.free:
                scheduler._preempt(plan, request, request, 0)
            elif request.order >= 0:
                self._extend(request, start, n, more)
        return [part for part in parts if part[0].order >= 0]

    def _publish(self, step: int, steps: int) -> None:
        after = self._row(self._hot.sizes, step + 1, steps)
        for at in compress(range(step, step + steps), after):
            for request in list(self._hot.at(at + 1)):
                self._paged.register_decode(request, at)

    def _extend(self, request: Request, start: int, n: int, more: int) -> None:
        """`more` blocks for the next part of a prompt."""
        request.table += self._pool.take(more)
        if request.registered < len(request.keys):
            self._manager.register(request, start + n)

    def _fill(self, parts: list[Part]) -> list[Request]:
        """These parts of prompts are computed now; gives those who end with them."""
        scheduler, ending = self._scheduler, []
        scheduler._chunking = []
        for request, start, n in parts:
            request.computed = start + n
            if start + n < request.prompt + request.generated:
                self._engine.tally.chunks += 1
                scheduler._chunking = [request]
            elif not self._start(request):
                ending.append(request)
        return ending

    def _start(self, request: Request) -> bool:
        """All known tokens are computed and the next one is there; whether more are to come."""
        engine, output = self._engine, request.output
        if output:
            engine._tokens += 1
            if not request.generated:
                engine.results.first(request, engine.now_ps)
            request.generated += 1
        if request.generated >= output:
            return False
        self._decode(request)
        if request.registered < len(request.keys) and self._counted:
            self._hot.enter(request)
        return True


def plain_rounds(engine: Engine) -> PlainRounds | None:
    """Rounds for an engine that can have some: one block table a request, and see `alone`."""
    scheduler, manager = engine.scheduler, engine.manager
    if type(scheduler) is not Scheduler or type(manager) is not PagedMemoryManager:
        return None
    if not alone(engine):
        return None
    return PlainRounds(engine, scheduler, manager)
