"""What steps are said to cost and what a run adds up to, counted anew request by request and step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.serving.scheduler import Scheduler
from tests.serving.test_leaps import contiguous, drafting, layered, paged, paged_ahead, quoting


def urgent(seed: int) -> Engine:
    """By priority, under every release: where who gives way ends the step, others get no token."""
    return paged(seed, policy="priority")


def stateful(seed: int) -> Engine:
    """States beside what grows."""
    engine = contiguous(seed)
    rules = engine.rules
    manager = ContiguousMemoryManager(1000, rules.max_model_len, reserve="exact", beside=1 + seed % 9)
    return Engine(engine.workload, rules, manager, engine.cost, until_ps=10**9)


SEEDS = range(12)
WORLDS: dict[Callable[[int], Engine], Iterable[int]] = {
    paged: SEEDS,
    quoting: SEEDS,
    contiguous: SEEDS,
    stateful: SEEDS,
    paged_ahead: SEEDS,
    layered: SEEDS,
    drafting: SEEDS,
}
WORLDS[urgent] = (138, 163, 232, 234, 256, 279)


class Recount:
    """Watches an engine and adds up what stands during each step, with no short cut."""

    def __init__(self, engine: Engine) -> None:
        self.sums: Counter[str] = Counter()
        self.peak = 0
        self.chunks = self.found = 0  # parts of prompts; tokens found in blocks of the very same step
        self.seen: Counter[str] = Counter()  # what the worlds had in them
        self._since = engine.now_ps
        self._standing: dict[str, int] = {}

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        if type(engine.scheduler) is Scheduler:
            self._compare(engine.scheduler, plan)
            self._tally(plan, engine.manager.block_size)
        scheduler, waiting = engine.scheduler, engine.scheduler.waiting
        levels = engine.manager.levels(waiting.head() if waiting else None)
        self._standing = levels._asdict() | {
            "time": 1,
            "running": scheduler.batch,
            "final": scheduler.final,
            "blocked": int(scheduler.blocked),
            "stored": plan.stored - levels.twice,
        }
        self.peak = max(self.peak, scheduler.batch)
        self._since = engine.now_ps

    def _compare(self, scheduler: Scheduler, plan: Plan) -> None:
        running = scheduler.running.values()
        decoding = [r for r in running if not r.chunking and r not in plan.hungry]
        assert plan.decodes == len(decoding)
        assert plan.decode_context == sum(r.stored(plan.step) + 1 for r in decoding)
        assert plan.prefill_tokens == sum(n for _, _, n in plan.prefill)
        attended = [sum(range(start + 1, start + n + 1)) for _, start, n in plan.prefill]
        assert plan.prefill_pairs == sum(attended)
        computed = sum(r.computed for r in running if r.chunking)  # up to here: the step has still to run
        stored = computed + plan.prefill_tokens + plan.decode_context
        stored += sum(r.stored(plan.step) for r in plan.hungry)
        assert plan.stored == scheduler.filled(stored)
        assert scheduler.final == sum(r.prompt + r.output + scheduler.manager.beside for r in running)
        self.seen += Counter(hungry=len(plan.hungry), decodes=plan.decodes, preempted=len(plan.preempted))
        self.seen["several"] += len(plan.prefill) > 1

    def _tally(self, plan: Plan, size: int) -> None:
        hits, full = dict(plan.admitted), set[int]()
        for request, start, n in plan.prefill:
            self.chunks += start + n < request.known
            self.found += size * sum(block in full for block in request.table[: hits.get(request, 0) // size])
            full |= {block for at, block in enumerate(request.table, 1) if start < at * size <= start + n}

    def updated(self, engine: Engine, plan: Plan) -> None:
        dt = engine.now_ps - self._since
        for name, level in self._standing.items():
            self.sums[name] += dt * level

    def arrived(self, engine: Engine, request: Request) -> None: ...

    rejected = aborted = arrived

    def idle(self, engine: Engine) -> None: ...


def recount(engine: Engine) -> Recount:
    engine.observer = counted = Recount(engine)
    while engine.step():
        pass
    return counted


@pytest.mark.parametrize("world", WORLDS)
def test_sums_are_those_of_the_steps(world: Callable[[int], Engine]) -> None:
    for seed in WORLDS[world]:
        engine = world(seed)
        counted = recount(engine)
        totals = engine.meter.totals()
        peak = totals.pop("peak")
        assert totals == {name: counted.sums[name] for name in totals}, f"seed {seed}"
        assert peak == counted.peak
        if type(engine.scheduler) is Scheduler:
            tally = engine.tally
            assert (tally.chunks, tally.same_step_hits) == (counted.chunks, counted.found), f"seed {seed}"


def test_the_worlds_have_what_is_counted() -> None:
    seen = sum(
        (recount(world(seed)).seen for world in (paged, urgent) for seed in WORLDS[world]), Counter[str]()
    )
    assert min(seen[what] for what in ("hungry", "decodes", "preempted", "several")) > 0, seen


def test_before_anything_runs_there_is_nothing() -> None:
    assert not any(paged(0).meter.totals().values())
