"""The numbers of a lane at this moment: one place that makes them, for the screen and for the report."""

from __future__ import annotations

from array import array

from kvtui.frames.counts import Counters, Percentiles, Split
from kvtui.frames.slo import NO_LIMITS, GoodCount, Slo
from kvtui.frames.stats import percentiles, split
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.memory.levels import Levels
from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.meter import Meter
from kvtui.serving.request import Phase
from kvtui.units import seconds

FRESHNESS = 200  # percentiles lag by at most 1/200 of the durations


class CounterReader:
    """Reads the counters of one engine; remembers percentiles while they hardly change."""

    def __init__(self, engine: Engine, slo: Slo = NO_LIMITS) -> None:
        self._engine = engine
        self._good = GoodCount(engine, slo)
        self._known: dict[str, Percentiles] = {}

    def read(self) -> Counters:
        """All counters now. Percentiles may lag by 1/200 of their requests until the run is done."""
        engine = self._engine
        scheduler, results, meter = engine.scheduler, engine.results, engine.meter
        away = sum(request.phase is Phase.PREEMPTED for request in scheduler.aside)
        running, waiting = scheduler.batch, len(scheduler.waiting) + away
        time_s = seconds(engine.now_ps)
        levels = engine.manager.levels(scheduler.waiting.head() if scheduler.waiting else None)
        return Counters(
            running=running,
            waiting=waiting,
            preempted_waiting=scheduler.preempted_waiting,
            finished=results.finished,
            rejected=len(results.refusals),
            unfinished=len(engine.workload) - results.finished - len(results.refusals) - len(results.aborted),
            preemptions=scheduler.preemptions,
            evictions=engine.manager.evictions,
            batch_peak=meter.peak,
            batch_mean=meter.running / meter.time if meter.time else 0.0,
            output_tokens=engine.output_tokens,
            output_tokens_per_s=engine.output_tokens / time_s if time_s else 0.0,
            requests_per_s=results.finished / time_s if time_s else 0.0,
            query_tokens=scheduler.prefix.queries,
            hit_tokens=scheduler.prefix.hits,
            readmit_query_tokens=scheduler.prefix.preempted_queries,
            readmit_hit_tokens=scheduler.prefix.preempted_hits,
            split=self._split_now(levels),
            split_mean=self._split_mean(meter, levels),
            ttft=self._percentiles("ttft", results.ttft),
            tpot=self._percentiles("tpot", results.tpot),
            e2e=self._percentiles("e2e", results.e2e),
            chunks=engine.tally.chunks,
            same_step_hit_tokens=engine.tally.same_step_hits,
            draft_tokens=scheduler.spec.num_draft_tokens,
            accepted_draft_tokens=scheduler.spec.num_accepted_tokens,
            saved=saved(levels.held, levels.twice),
            saved_mean=saved(meter.held, meter.twice),
            reusable_evictions=engine.manager.forgotten,
            good=self._good.read(),
            late=self._good.broken,
            **moved(engine.manager),
        )

    def _split_now(self, levels: Levels) -> Split:
        scheduler, manager = self._engine.scheduler, self._engine.manager
        return split(
            stored=scheduler.stored - levels.twice,
            final=scheduler.final,
            held=levels.held,
            hole=levels.hole,
            cached=levels.cached,
            free=levels.free,
            reserves=manager.reserves,
        )

    def _split_mean(self, meter: Meter, levels: Levels) -> Split:
        if not meter.time:
            return self._split_now(levels)
        return split(
            stored=meter.stored,
            final=meter.final,
            held=meter.held,
            hole=meter.hole,
            cached=meter.cached,
            free=meter.free,
            reserves=self._engine.manager.reserves,
        )

    def _percentiles(self, name: str, durations: array[int] | array[float]) -> Percentiles:
        # Over a round number of durations, so that what is shown depends on the run alone and not on when it
        # was looked at.
        count = len(durations) if self._engine.done else _round_down(len(durations))
        known = self._known.get(name)
        if known is None or known.n != count:
            known = self._known[name] = percentiles(durations[:count])
        return known


def saved(held: int, twice: int) -> float:
    """Per cent of what tables hold that sharing saves, where `twice` is what is counted more than once."""
    return round(100 * twice / (held + twice), 3) if twice else 0.0


def moved(manager: MemoryManager) -> dict[str, int]:
    """Blocks that were copied, within the pool or to host memory and back."""
    counted = {"copies": manager.copies} if isinstance(manager, PagedMemoryManager) else {}
    if isinstance(manager, ForkingMemoryManager):
        counted |= {"swapped_out": manager.swapped_out, "swapped_in": manager.swapped_in}
    return counted


def _round_down(n: int) -> int:
    """The largest number up to n in steps of a power of two that is at most n / FRESHNESS."""
    step = 1 << max((n // FRESHNESS).bit_length() - 1, 0)
    return n - n % step
