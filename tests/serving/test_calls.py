"""What a run costs: calls for what is decided, however many steps that takes and however many wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.ahead import PATIENCE
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.plan import Plan
from kvtui.serving.rules import Rules
from kvtui.serving.scheduler import Scheduler
from kvtui.timing.roofline import LinearCost
from tests.serving.build import outside_rounds, workload
from tests.serving.digest import Price
from tests.serving.test_leaps import contiguous, paged

REQUESTS = 60


@pytest.mark.parametrize(
    ("seqs", "make"),
    [(256, lambda: ContiguousMemoryManager(800, 400)), (2, lambda: PagedMemoryManager(8000))],
)
def test_who_waits_costs_nothing(seqs: int, make: Callable[[], MemoryManager]) -> None:
    """Everybody comes in by one call and is decoded by another, though two run and all others queue."""
    load = workload([(2e-7 * i, 40, 300) for i in range(REQUESTS)])
    engine = Engine(load, Rules(400, max_num_seqs=seqs), make(), Price())
    calls = 1
    while engine.step(UNLIMITED):
        calls += 1
    assert engine.results.finished == REQUESTS
    assert engine.scheduler.step > 9000
    assert calls < 2 * REQUESTS + 10


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("steps", [*range(8), 30, 71])
def test_rounds_go_on_where_single_steps_stopped(
    ahead: bool, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts that take several steps, longer than the queue is at times."""
    asks = [(2e-7 * (i // 3), 30 + 40 * (i % 5), 1 + i % 40) for i in range(REQUESTS)]
    rules = Rules(1000, max_num_batched_tokens=48, max_num_seqs=9, async_scheduling=ahead)
    engine = Engine(workload(asks), rules, PagedMemoryManager(8000), Price())
    for _ in range(steps):
        engine.step()
    monkeypatch.setattr(Engine, "step", outside_rounds)
    assert not engine.run()
    assert engine.results.finished == REQUESTS


@pytest.mark.parametrize("build", [paged, contiguous])
def test_the_batch_is_looked_at_one_by_one_only_where_somebody_gives_way(
    build: Callable[[int], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Plan] = []
    walk = Scheduler._walk

    def watched(scheduler: Scheduler, plan: Plan, cap: int | None, budget: int) -> int:
        if len(scheduler._chunking) < 2 and len(scheduler.running) <= budget:  # tokens are no reason
            plans.append(plan)
        return walk(scheduler, plan, cap, budget)

    monkeypatch.setattr(Scheduler, "_walk", watched)
    for seed in range(12):
        engine = build(seed)
        while engine.step():
            pass
    assert all(plan.preempted for plan in plans)
    assert bool(plans) == (build is paged)


def test_rounds_are_tried_again_after_they_were_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """At first memory is short all the time, later never: as many steps are done apart as at first."""
    beside: list[int] = []
    step = Engine.step

    def watched(engine: Engine, limit: int) -> bool:
        beside.append(limit)
        return step(engine, limit)

    monkeypatch.setattr(Engine, "step", watched)
    apart = []
    for later in (0, 300):
        asks = [(0.0, 40, 300)] * 12 + [(1e-3 + 2e-7 * i, 40, 30) for i in range(later)]
        rules = Rules(1000, async_scheduling=True)
        engine = Engine(workload(asks), rules, PagedMemoryManager(1600), Price())
        assert not engine.run()
        assert engine.results.finished == 12 + later
        assert engine.scheduler.preemptions > 5
        apart.append(len(beside))
        beside.clear()
    assert 10 < apart[0] <= apart[1] <= apart[0] + (1 << PATIENCE)


@pytest.mark.parametrize(("step_ps", "waits"), [(1999, 2), (2000, 1), (2001, 1)])
def test_who_arrives_a_picosecond_after_a_step_began_waits_for_the_next(step_ps: int, waits: int) -> None:
    """One arrives while the first step runs, another when it ends, or just before or after that."""
    load = workload([(0, 10, 3), (1e-9, 10, 1), (2e-9, 10, 1)])
    engine = Engine(load, Rules(100), PagedMemoryManager(800), LinearCost(step_ps, 0, 0))
    while engine.step():
        pass
    assert list(engine.results.first_token) == [step_ps, 2 * step_ps, (1 + waits) * step_ps]
