"""Rounds: the steps that most of a run consists of, on the inner state of engine, scheduler and pool.

Nobody watches: everybody decodes and prompts come in, one at most in parts. What the scheduler decides there
by all its rules is known beforehand, so a round does it with half the work and leaves behind what it would.
Here is what all rounds have in common: how they follow each other, the leaps in which everybody decodes, and
ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heappush
from itertools import accumulate, chain, compress
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from kvtui.memory.pool import BlockPool
from kvtui.memory.protocol import MemoryManager
from kvtui.memory.wheel import PhaseWheel
from kvtui.serving.request import Phase, Request
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.stretch import within

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine


T = TypeVar("T")


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
        self._views, self._sizes = wheel.views, wheel.sizes
        self._hot = hot
        self._size = manager.block_size
        self._counted = manager.prefix_cache
        self._waiting = scheduler.waiting
        self._urgent = scheduler.rules.policy == "priority"  # whoever arrives may be the next to come in
        self._free = 0  # blocks x ps that were free, since the meter knows
        self._empty = 0  # of these, how many had no content

    def run(self, calls: int) -> int:
        """Rounds, `calls` at most, to the end or until something else is due; returns the calls left."""
        engine = self._engine
        if not self._in_order():
            return calls
        if engine._stretch is not None:
            engine._end_stretch(engine._stretch)
        self._meter.flush(engine.now_ps)
        engine._changed = True  # levels are not looked at in here
        calls = self._some(calls)
        self._settle()
        return calls

    def _some(self, calls: int) -> int:
        """Rounds, `calls` at most. Gives the calls left."""
        engine, scheduler = self._engine, self._scheduler
        running, waiting, limit = scheduler.running, scheduler.waiting, scheduler.rules.running_limit
        while calls and not engine.done:
            if engine.now_ps >= engine._event or not (running or waiting):
                if not (running or waiting):
                    self._settle()  # idle time does not count
                if not engine._take_in():
                    engine.done = True
                    return calls
            leaps = False
            if scheduler._chunking:
                pass
            elif not waiting:
                leaps = self._leap(len(running), engine._event)
            elif len(running) >= limit or (running and scheduler.blocked and scheduler._closed()):
                leaps = self._leap(len(running), engine._event if self._urgent else engine._deadline)
            if not (leaps or self._step()):
                return calls
            calls -= 1
        return calls

    def _in_order(self) -> bool:
        """Whether at most one request, the last of the batch, is in mid-prompt."""
        chunking = self._scheduler._chunking
        return not chunking or chunking == [next(reversed(self._scheduler.running.values()))]

    def _leap(self, n: int, due: int) -> bool:
        """The `n` who run decode until one ends, something is due or memory is short; False where it is short
        for the first step."""
        engine, scheduler = self._engine, self._scheduler
        step = scheduler.step
        steps = left = scheduler._finishes.first() - step + 1
        fixed, slope = engine._rates.get(n) or engine._rate(n)
        context = scheduler._offsets + n * (step + 1)
        first, rise = fixed + slope * context, slope * n
        pairs = steps * (steps - 1) // 2
        dt, room = steps * first + rise * pairs, due - engine.now_ps
        if dt >= room and steps > 1:
            steps = within(first, rise, room, steps)
        sizes = self._row(self._sizes, step, steps)
        so_far = list(accumulate(sizes))
        if so_far[-1] > self._pool.free:
            steps = bisect_right(so_far, self._pool.free)
            if not steps:
                return False
            del sizes[steps:], so_far[steps:]
        if steps < left:
            pairs = steps * (steps - 1) // 2
            dt = steps * first + rise * pairs
        taken, empty = self._buy(sizes, so_far, first, rise) if so_far[-1] else (0, 0)
        if self._hot.count:
            self._publish(step, steps)
        if scheduler._recounts and scheduler.blocked:
            scheduler._recount(steps)
        more = n * (first * pairs + rise * (pairs * (2 * steps - 1) // 3))
        self._stand(dt, n, context, taken, empty, more)
        engine.now_ps += dt
        engine._tokens += steps * n
        scheduler.step = step + steps
        if steps == left:
            self._end_due()
        return True

    def _row(self, turns: list[T], step: int, steps: int) -> list[T]:
        """Of two turns of the wheel those in so many steps from `step` on."""
        size = self._size
        at = step % size
        if at + steps <= 2 * size:
            return turns[at : at + steps]
        turn = turns[at : at + size]
        return turn * (steps // size) + turn[: steps % size]

    def _buy(self, sizes: list[int], so_far: list[int], first: int, rise: int) -> tuple[int, int]:
        """Deal out blocks, step by step: `sizes`, and their sums `so_far`. Gives blocks x ps before they are
        taken, of all and of those without content."""
        pool, total = self._pool, so_far[-1]
        if not pool.lifo:
            return self._buy_mixed(sizes, first, rise)
        evictions = pool.evictions
        takers = compress(self._row(self._views, self._scheduler.step, len(sizes)), sizes)
        for request, block in zip(chain.from_iterable(takers), pool.take(total)):  # noqa: B905
            request.table.append(block)
        taken = _before(so_far, first, rise)
        empty = total - (pool.evictions - evictions)  # they go first
        if empty == total:
            return taken, taken
        if not empty:
            return taken, 0
        return taken, _before([*so_far[: bisect_left(so_far, empty)], empty], first, rise)

    def _buy_mixed(self, sizes: list[int], first: int, rise: int) -> tuple[int, int]:
        """The same where blocks with content and without stand mixed in the queue."""
        pool, area, empty = self._pool, 0, 0
        views = self._row(self._views, self._scheduler.step, len(sizes))
        for i, n in enumerate(sizes):
            if n:
                past, evictions = i * first + rise * (i * (i - 1) // 2), pool.evictions
                for request, block in zip(views[i], pool.take(n)):  # noqa: B905
                    request.table.append(block)
                area += n * past
                empty += (n - (pool.evictions - evictions)) * past
        return area, empty

    def _publish(self, step: int, steps: int) -> None:
        """Decodes complete blocks others can meet in so many steps from `step` on."""
        raise NotImplementedError

    def _stand(
        self, dt: int, running: int, stored: int, taken: int = 0, empty: int = 0, more: int = 0
    ) -> None:
        """Measure a round of `dt` ps with memory as it is at its end, and `stored` tokens. What that is too
        little comes with it: blocks x ps until they were taken, of all and of those without content, and
        tokens x ps."""
        scheduler, pool, meter = self._scheduler, self._pool, self._meter
        meter.running += dt * running
        meter.final += dt * scheduler.final
        meter.stored += dt * stored + more
        self._free += dt * pool.free + taken
        self._empty += dt * (len(pool._stack) + pool._unused + len(pool._plain)) + empty
        if scheduler.blocked:
            meter.blocked += dt
        if pool.shared:
            twice = dt * self._size * pool.shared
            meter.twice += twice
            meter.stored -= twice

    def _settle(self) -> None:
        """Bring the meter up to now."""
        meter, size, now = self._meter, self._size, self._engine.now_ps
        time = now - meter._since
        meter.time += time
        meter.held += size * (self._pool.size * time - self._free)
        meter.cached += size * (self._free - self._empty)
        self._free = self._empty = 0
        meter.skip(now)

    def _step(self) -> bool:
        """A full step: everybody decodes, and prompts come in as far as there is room. False (no effect)
        where it is not as plain as that."""
        raise NotImplementedError

    def _end_due(self, also: Sequence[Request] = ()) -> None:
        """End those whose last token has appeared, and `also` others; in batch order."""
        ending = [*also, *self._scheduler._finishes.take(self._scheduler.step - 1)]
        if len(ending) > 1:
            ending.sort(key=attrgetter("order"))
        for request in ending:
            self._end(request)

    def _end(self, request: Request) -> None:
        engine, scheduler = self._engine, self._scheduler
        if request.chunking:  # its only token came with the prompt
            stored, request.chunking = request.computed, False
        else:
            stored = request.offset + scheduler.step
            scheduler._offsets -= request.offset
            self._wheel.leave(request)
            if self._hot.count and self._hot.has(request):
                self._hot.leave(request)
        del scheduler.running[request.order]
        scheduler.final -= request.prompt + request.output + self._manager.beside
        request.order = -1
        self._manager.release(request, stored)
        request.generated = request.output
        request.computed = stored
        request.phase = Phase.FINISHED
        scheduler.blocked = False
        engine.results.finish_one(request, engine.now_ps)
        if engine._loop is not None:
            engine._ended(request.number, engine.now_ps)

    def _decode(self, request: Request) -> None:
        """From now on a token in every step."""
        scheduler = self._scheduler
        request.chunking = False
        request.offset = offset = request.computed - scheduler.step
        request.finish = request.prompt + request.output - 2 - offset
        scheduler._offsets += offset
        self._wheel.enter(request)
        heappush(scheduler._finishes._heap, (request.finish, request.order, request))


def _before(so_far: list[int], first: int, rise: int) -> int:
    """Blocks x ps before they are taken, of which `so_far` are up to each step. One of step i is free for
    i * first + i * (i - 1) / 2 * rise: sums of sums give that for half of what sums of products cost.
    """
    steps, total, late = len(so_far), so_far[-1], sum(so_far)
    area = first * (steps * total - late)
    if rise:
        pairs = steps * (steps - 1) // 2
        area += rise * (total * pairs - steps * late + sum(accumulate(so_far)))
    return area


def alone(engine: Engine) -> bool:
    """Whether prompts come in whole as far as there is room, nobody goes away and nobody watches."""
    rules = engine.rules
    return (
        engine.manager.log is None
        and engine.observer is None
        and engine.clock is None
        and not engine._aborts
        and not rules.long_prefill_token_threshold
    )
