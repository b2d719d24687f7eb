"""Plain rounds of synchronous scheduling: full steps in which prompts come in beside the decodes.

Who has to give way, and decodes that complete blocks others can meet, are left to the scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.memory.hits import NO_HITS, Hits
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.request import Phase, Request
from kvtui.serving.rounds import Rounds, alone
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.tally import Part

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine


class PlainRounds(Rounds):
    """Rounds of an engine whose scheduler sees the result of a step before it decides the next."""

    def _step(self) -> bool:
        """A full step: everybody decodes, and prompts come in as far as there is room."""
        engine, scheduler, meter = self._engine, self._scheduler, self._meter
        decodes = len(scheduler.running) - len(scheduler._chunking)
        left = scheduler.rules.token_budget - decodes
        parts = self._go_on(left)
        if parts is None:
            return False
        scheduler.blocked, scheduler._wish, scheduler._tried = False, None, None
        hits = self._admissions(parts, left - parts[0][2] if parts else left) if self._waiting else ()
        if not (decodes or parts):
            return False
        stored = context = scheduler._offsets + decodes * (scheduler.step + 1)
        tokens = pairs = 0
        for _, start, n in parts:
            stored += start + n
            tokens += n
            pairs += n * start + n * (n + 1) // 2
        dt = engine.cost.step(decodes, context, tokens, pairs)
        if hits:
            engine.tally.find(parts, hits, self._size)
        self._stand(dt, len(scheduler.running))
        meter.blocked += dt * scheduler.blocked
        meter.stored += stored * dt
        engine.now_ps += dt
        engine._tokens += decodes
        engine._idle = 0
        scheduler.step += 1
        ending = self._fill(parts)
        if ending:
            self._end_all(ending + scheduler._finishes.take(scheduler.step - 1))
        elif self._heap and self._heap[0][0] < scheduler.step:
            self._end_due()
        return True

    def _go_on(self, left: int) -> list[Part] | None:
        """Blocks for those who run: decodes, and the next part of a prompt; None (no effect) where these, or
        `left` tokens, do not suffice."""
        scheduler, pool, more = self._scheduler, self._pool, 0
        parts: list[Part] = []
        takers = self._views[scheduler.step % self._size]
        for request in scheduler._chunking:
            n = min(request.prompt + request.generated - request.computed, left)
            if n <= 0:
                return None
            more = -(-(request.computed + n) // self._size) - len(request.table)
            parts.append((request, request.computed, n))
        if left < 0 or len(takers) + more > pool.free:
            return None
        if takers:
            for taker, block in zip(takers, pool.take(len(takers))):  # noqa: B905
                taker.table.append(block)
        for request, start, n in parts:
            request.table += pool.take(more)
            if request.registered < len(request.keys):
                self._manager.register(request, start, start + n)
        return parts

    def _admissions(self, parts: list[Part], left: int) -> list[tuple[Request, int]]:
        """Who comes in, with `left` tokens; their parts go to `parts`. Gives who found how many tokens."""
        scheduler, rules, waiting = self._scheduler, self._scheduler.rules, self._waiting
        running, limit = scheduler.running, rules.running_limit
        hits: list[tuple[Request, int]] = []
        while waiting and left > 0 and len(running) < limit:
            request = waiting[0]
            found = self._manager.lookup(request) if request.keys or request.lost else NO_HITS
            hit = found.tokens
            n = request.prompt + request.generated - hit
            if n > left:
                if not rules.enable_chunked_prefill:
                    scheduler._refuse(request, found)
                    scheduler.blocked = not parts
                    break
                n = left
            if not self._admit(request, found, n):
                scheduler._refuse(request, found)
                break
            parts.append((request, hit, n))
            left -= n
            if hit:
                hits.append((request, hit))
        return hits

    def _admit(self, request: Request, hits: Hits, tokens: int) -> bool:
        """As the manager does, which need not be asked where nothing is shared."""
        manager, pool, scheduler = self._manager, self._pool, self._scheduler
        full, watermark = scheduler.rules.reserve_full, scheduler._watermark if scheduler.running else 0
        if request.keys or hits.tokens:
            if not manager.admit(request, hits, tokens, watermark=watermark, reserve_full=full):
                return False
        else:
            asked = request.prompt + request.generated if full else tokens
            if -(-asked // self._size) + watermark > pool.free:
                return False
            request.table = pool.take(-(-tokens // self._size))
            request.lost = []
        self._seat(request, hits.tokens)
        return True

    def _seat(self, request: Request, hit: int) -> None:
        """From the queue into the batch, in mid-prompt."""
        scheduler, meter = self._scheduler, self._meter
        self._waiting.take()
        if request.preemptions or hit:
            scheduler._count(request, hit)
            scheduler.preempted_waiting -= request.phase is Phase.PREEMPTED
        elif self._manager.prefix_cache and not request.skip_lookup:
            scheduler.prefix.requests += 1
            scheduler.prefix.queries += request.prompt
        request.phase = Phase.RUNNING
        request.chunking = True
        request.order = order = scheduler._orders
        scheduler._orders = order + 1
        scheduler.running[order] = request
        scheduler.final += request.prompt + request.output
        if len(scheduler.running) > meter.peak:
            meter.peak = len(scheduler.running)

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
        engine, manager = self._engine, self._manager
        if request.output:
            engine._tokens += 1
            request.generated += 1
            if request.generated == 1:
                engine.results.first(request, engine.now_ps)
        if request.generated >= request.output:
            return False
        self._decode(request)
        if request.registered < len(request.keys) and manager.prefix_cache:
            self._hot.enter(request)
            self._over = True
        return True


def plain_rounds(engine: Engine) -> PlainRounds | None:
    """Rounds for an engine that can have some: one block table a request, and see `alone`."""
    scheduler, manager = engine.scheduler, engine.manager
    if type(scheduler) is not Scheduler or type(manager) is not PagedMemoryManager:
        return None
    if not (manager.lifo and alone(engine)):
        return None
    return PlainRounds(engine, scheduler, manager, manager.pool, manager.wheel, manager.hot)
