"""Rounds: the steps that most of a run consists of, on the inner state of engine, scheduler and pool.

First come, first served on block tables, nobody watching: everybody decodes and prompts come in, one at most
in parts. What the scheduler decides there by all its rules is known beforehand, so a round does it with half
the work and leaves behind what it would. Here is what all rounds have in common: how they follow each other,
the leaps in which everybody decodes, and ends.
"""

from __future__ import annotations

from collections.abc import ValuesView
from itertools import accumulate, chain, compress
from operator import attrgetter, mul
from typing import TYPE_CHECKING

from kvtui.memory.pool import BlockPool
from kvtui.memory.protocol import MemoryManager
from kvtui.memory.wheel import PhaseWheel, affordable
from kvtui.serving.request import Phase, Request
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.stretch import within
from kvtui.serving.waiting import FcfsQueue

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine


Takers = list[ValuesView[Request]]  # who begins a block, step by step


class Rounds:
    """Rounds of one engine, for as long as its scheduler and manager are these."""

    def __init__(
        self,
        engine: Engine,
        scheduler: Scheduler,
        manager: MemoryManager,
        pool: BlockPool,
        wheel: PhaseWheel,
        hot: PhaseWheel,
    ) -> None:
        self._engine = engine
        self._scheduler = scheduler
        self._manager = manager
        self._pool = pool
        self._meter = engine._meter
        self._heap = scheduler._finishes._heap
        self._wheel = wheel
        self._views = wheel.views
        self._hot = hot
        self._size = manager.block_size
        assert isinstance(scheduler.waiting, FcfsQueue)
        self._waiting = scheduler.waiting
        self._over = False  # whether the scheduler has to go on
        self._triangles = [0]  # i * (i - 1) // 2, as far as needed

    def run(self, calls: int) -> int:
        """Rounds, `calls` at most, to the end or until something else is due; returns the calls left."""
        engine, scheduler = self._engine, self._scheduler
        self._over = False
        if self._hot.count or not self._in_order():
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
            if scheduler._chunking:
                usual = self._step()
            elif not waiting:
                usual = self._leap(len(running), engine._event)
            elif len(running) >= limit or (running and scheduler.blocked and scheduler._closed()):
                usual = self._leap(len(running), engine._deadline)
            else:
                usual = self._step()
            if not usual:
                return calls
            calls -= 1
            if self._over:
                return calls
        return calls

    def _in_order(self) -> bool:
        """Whether at most one request, the last of the batch, is in mid-prompt."""
        chunking = self._scheduler._chunking
        return not chunking or chunking == [next(reversed(self._scheduler.running.values()))]

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

    def _step(self) -> bool:
        """A full step: everybody decodes, and prompts come in as far as there is room. False (no effect)
        where it is not as plain as that."""
        raise NotImplementedError

    def _end_due(self) -> None:
        """End those whose last token has appeared."""
        self._end_all(self._scheduler._finishes.take(self._scheduler.step - 1))

    def _end_all(self, ending: list[Request]) -> None:
        """End them in batch order."""
        if len(ending) > 1:
            ending.sort(key=attrgetter("order"))
        for request in ending:
            self._end(request)

    def _end(self, request: Request) -> None:
        scheduler = self._scheduler
        if request.chunking:  # its only token came with the prompt
            stored, request.chunking = request.computed, False
        else:
            stored = request.offset + scheduler.step
            scheduler._offsets -= request.offset
            self._wheel.leave(request)
        del scheduler.running[request.order]
        scheduler.final -= request.prompt + request.output + self._manager.beside
        request.order = -1
        self._manager.release(request, stored)
        request.generated = request.output
        request.computed = stored
        request.phase = Phase.FINISHED
        scheduler.blocked = False
        engine = self._engine
        engine.results.finish_one(request, engine.now_ps)
        if engine._loop is not None:
            engine._ended(request.number, engine.now_ps)

    def _decode(self, request: Request) -> None:
        """From now on a token in every step."""
        scheduler = self._scheduler
        request.decode_from(scheduler.step)
        scheduler._offsets += request.offset
        self._wheel.enter(request)
        scheduler._finishes.add(request)


def _leading(sizes: list[int], blocks: int, first: int, rise: int) -> int:
    """Blocks x time of the first `blocks` that are taken."""
    area = i = 0
    while blocks > 0:
        taken = min(sizes[i], blocks)
        area += taken * (i * first + rise * (i * (i - 1) // 2))
        blocks -= taken
        i += 1
    return area


def alone(engine: Engine) -> bool:
    """Whether requests are served in order of arrival by the rules of vLLM 0.28 and later, nobody goes away
    and nobody watches."""
    rules = engine.rules
    return (
        engine.manager.log is None
        and engine.observer is None
        and engine.clock is None
        and not engine._aborts
        and rules.policy == "fcfs"
        and not rules.long_prefill_token_threshold
        and rules.release.count_at_admission
    )
