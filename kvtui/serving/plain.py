"""Plain rounds: the steps that most of a run consists of, on the inner state of engine, scheduler and pool.

First come, first served on block tables, nobody watching: everybody decodes, or prompts come in whole. What
scheduler and memory decide there by all their rules is known beforehand, so a round does it with half the
work and leaves behind what they would. Everything else is left to them.
"""

from __future__ import annotations

from collections.abc import ValuesView
from itertools import accumulate, chain, compress
from operator import attrgetter, mul
from typing import TYPE_CHECKING

from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.wheel import affordable
from kvtui.serving.request import Phase, Request
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.stretch import within

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine


Takers = list[ValuesView[Request]]  # who begins a block, step by step


class PlainRounds:
    """Rounds of one engine, for as long as its scheduler and manager are these."""

    def __init__(self, engine: Engine, scheduler: Scheduler, manager: PagedMemoryManager) -> None:
        self._engine = engine
        self._scheduler = scheduler
        self._manager = manager
        self._pool = manager.pool
        self._meter = engine._meter
        self._heap = scheduler._finishes._heap
        self._views = manager.wheel.views
        self._size = manager.block_size
        self._triangles = [0]  # i * (i - 1) // 2, as far as needed

    def run(self, calls: int) -> int:
        """Rounds, `calls` at most, to the end or until something else is due; returns the calls left."""
        engine, scheduler = self._engine, self._scheduler
        if scheduler._chunking or self._manager.hot.count:
            return calls
        if engine._stretch is not None:
            engine._end_stretch(engine._stretch)
        self._meter.flush(engine.now_ps)
        engine._changed = True  # levels are not looked at in here
        running, waiting, limit = scheduler.running, scheduler.waiting, scheduler.rules.running_limit
        while calls:
            if (engine.now_ps >= engine._event or not (running or waiting)) and not engine._take_in():
                engine.done = True
                return calls
            if not waiting:
                usual = self._leap(len(running), engine._event)
            elif len(running) >= limit or (running and scheduler.blocked and scheduler._closed()):
                usual = self._leap(len(running), engine._deadline)
            else:
                usual = self._admit(len(running))
            if not usual:
                return calls
            calls -= 1
        return calls

    def _leap(self, n: int, due: int) -> bool:
        """The `n` who run decode until one ends, something is due or memory is short; False where it is short
        for the first step."""
        engine, scheduler, meter = self._engine, self._scheduler, self._meter
        step = scheduler.step
        steps = left = scheduler._finishes.first() - step + 1
        fixed, slope = engine._rates.get(n) or engine._rate(n)
        context = scheduler._offsets + n * (step + 1)
        first, rise = fixed + slope * context, slope * n
        pairs = steps * (steps - 1) // 2
        dt = steps * first + rise * pairs
        if dt >= due - engine.now_ps and steps > 1:
            steps = within(first, rise, due - engine.now_ps, steps)
            pairs = steps * (steps - 1) // 2
            dt = steps * first + rise * pairs
        takers = self._takers(step % self._size, steps)
        sizes = list(map(len, takers))
        total = sum(sizes)
        if total > self._pool.free:
            steps, total = affordable(sizes, self._pool.free)
            if not steps:
                return False
            del takers[steps:], sizes[steps:]
            pairs = steps * (steps - 1) // 2
            dt = steps * first + rise * pairs
        if total:
            self._buy(takers, sizes, total, first, rise)
        self._stand(dt, n)
        meter.blocked += dt * scheduler.blocked
        meter.stored += context * dt + n * (first * pairs + rise * (pairs * (2 * steps - 1) // 3))
        engine.now_ps += dt
        engine._tokens += steps * n
        scheduler.step += steps
        if steps == left:
            self._end_due()
        return True

    def _takers(self, at: int, steps: int) -> Takers:
        """Who begins a block in each of the steps; the first one is `at` in its turn of the wheel."""
        size = self._size
        if at + steps <= 2 * size:
            return self._views[at : at + steps]
        turn = self._views[at : at + size]
        return turn * (steps // size) + turn[: steps % size]

    def _buy(self, takers: Takers, sizes: list[int], total: int, first: int, rise: int) -> None:
        """Deal out blocks, step by step. The leap is measured with the memory that is left at its end: what
        that is too much (held) or too little (cached) is put right here."""
        pool, meter, size = self._pool, self._meter, self._size
        evictions = pool.evictions
        for request, block in zip(chain.from_iterable(compress(takers, sizes)), pool.take(total)):  # noqa: B905
            request.table.append(block)
        area = first * sum(map(mul, sizes, range(len(sizes))))
        if rise:
            if len(self._triangles) < len(sizes):
                self._triangles = [0, *accumulate(range(2 * len(sizes)))]
            area += rise * sum(map(mul, sizes, self._triangles))
        meter.held -= area * size
        evictions = pool.evictions - evictions
        if evictions:
            if evictions < total:
                area -= _leading(sizes, total - evictions, first, rise)
            meter.cached += area * size

    def _stand(self, dt: int, running: int) -> None:
        """Measure `dt` ps in which memory is as it is now."""
        pool, meter = self._pool, self._meter
        slots = dt * self._size
        meter.time += dt
        meter._since += dt
        meter.running += dt * running
        meter.final += dt * self._scheduler.final
        meter.held += slots * (pool.size - pool.free)
        meter.cached += slots * (pool.free - len(pool._stack) - pool._unused)
        if pool.shared:
            meter.twice += slots * pool.shared
            meter.stored -= slots * pool.shared

    def _end_due(self) -> None:
        """End those whose last token has appeared, in batch order."""
        scheduler = self._scheduler
        ending = scheduler._finishes.take(scheduler.step - 1)
        if len(ending) > 1:
            ending.sort(key=attrgetter("order"))
        for request in ending:
            self._end(request)

    def _end(self, request: Request) -> None:
        scheduler, manager = self._scheduler, self._manager
        stored = request.offset + scheduler.step
        del scheduler.running[request.order]
        scheduler._offsets -= request.offset
        scheduler.final -= request.prompt + request.output
        manager.wheel.leave(request)
        request.order = -1
        manager.release(request, stored)
        request.generated = request.output
        request.computed = stored
        request.phase = Phase.FINISHED
        scheduler.blocked = False
        engine = self._engine
        engine.results.finish_one(request, engine.now_ps)
        if engine._loop is not None:
            engine._ended(request.number, engine.now_ps)

    def _admit(self, n: int) -> bool:
        """A full step: everybody decodes, and who waits comes in as far as there is room."""
        engine, scheduler, pool, meter = self._engine, self._scheduler, self._pool, self._meter
        takers = self._views[scheduler.step % self._size]
        chosen = self._chosen(n, pool.free - len(takers))
        if chosen is None:
            return False
        if takers:
            for taker, block in zip(takers, pool.take(len(takers))):  # noqa: B905
                taker.table.append(block)
        tokens = pairs = 0
        for request in chosen:
            prompt = request.prompt
            tokens += prompt
            pairs += prompt * (prompt + 1) // 2
            request.table = pool.take(-(-prompt // self._size))
            scheduler.final += prompt + request.output
        context = scheduler._offsets + n * (scheduler.step + 1)
        dt = engine.cost.step(n, context, tokens, pairs)
        n += len(chosen)
        self._stand(dt, n)
        meter.blocked += dt * scheduler.blocked
        meter.stored += (context + tokens) * dt
        if n > meter.peak:
            meter.peak = n
        if self._manager.prefix_cache:
            scheduler.prefix.requests += len(chosen)
            scheduler.prefix.queries += tokens
        engine.now_ps += dt
        engine._tokens += n
        engine._idle = 0
        scheduler.step += 1
        for request in chosen:
            self._start(request)
        if self._heap[0][0] < scheduler.step:
            self._end_due()
        return True

    def _chosen(self, n: int, free: int) -> list[Request] | None:
        """Those who come in now, whose prompts are computed whole; None where it is not as plain as that."""
        scheduler, size = self._scheduler, self._size
        budget, room = scheduler.rules.token_budget - n, scheduler.rules.running_limit - n
        if free < 0 or budget < 0:
            return None
        chosen: list[Request] = []
        blocked = None
        for request in scheduler.waiting.first():
            if not (room and budget):
                break
            prompt = request.prompt
            if prompt > budget or request.output < 2 or _special(request):
                return None
            free -= -(-prompt // size)
            if free < (scheduler._watermark if n or chosen else 0):
                blocked = request
                break
            chosen.append(request)
            budget -= prompt
            room -= 1
        if not (n or chosen):
            return None
        scheduler.blocked, scheduler._wish = blocked is not None, None
        scheduler._tried = (blocked, 0) if blocked else None
        return chosen

    def _start(self, request: Request) -> None:
        """Into the batch: the prompt is computed and the first token there."""
        scheduler, engine = self._scheduler, self._engine
        scheduler.waiting.take()
        request.phase = Phase.RUNNING
        request.order = order = scheduler._orders
        scheduler._orders = order + 1
        scheduler.running[order] = request
        request.computed = request.prompt
        request.generated = 1
        request.decode_from(scheduler.step)
        scheduler._offsets += request.offset
        self._manager.wheel.enter(request)
        scheduler._finishes.add(request)
        engine.results.first(request, engine.now_ps)


def _special(request: Request) -> bool:
    """Whether the prefix cache has to be asked about it."""
    return bool(request.preemptions or request.keys or request.skip_lookup)


def _leading(sizes: list[int], blocks: int, first: int, rise: int) -> int:
    """Blocks x time of the first `blocks` that are taken."""
    area = i = 0
    while blocks > 0:
        taken = min(sizes[i], blocks)
        area += taken * (i * first + rise * (i * (i - 1) // 2))
        blocks -= taken
        i += 1
    return area


def plain_rounds(engine: Engine) -> PlainRounds | None:
    """Rounds for an engine that can have some: by the rules of vLLM 0.24 and later, in order of arrival, one
    block table a request, unwatched, nobody going away."""
    scheduler, manager, rules = engine.scheduler, engine.manager, engine.rules
    if type(scheduler) is not Scheduler or type(manager) is not PagedMemoryManager:
        return None
    plain = (
        manager.lifo
        and manager.log is None
        and engine.observer is None
        and engine.clock is None
        and not engine._aborts
        and rules.policy == "fcfs"
        and not rules.long_prefill_token_threshold
        and rules.release.count_at_admission
    )
    return PlainRounds(engine, scheduler, manager) if plain else None
