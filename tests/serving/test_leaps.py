"""Leaping over k steps leaves exactly what k single steps leave: one world, one digest."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvtui.decisions.recorded import prepare, rows_of, rules_of, workload_of
from kvtui.memory.contiguous import PLACEMENT, RESERVE, ContiguousMemoryManager
from kvtui.memory.ops import OpLog
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.rules import NEWEST, RELEASES, Rules
from kvtui.units import PS_PER_S
from tests.serving.build import workload
from tests.serving.digest import LIMITS, Price, run
from tests.serving.worlds import world
from tests.vllm.more_worlds import more_world
from tests.vllm.worlds import world as vllm_world


def paged(seed: int, **options: bool) -> Engine:
    config, lines = world(seed)
    release = random.Random(seed).choice([NEWEST] * 3 + list(RELEASES))
    engine, _ = prepare(config | {"max_steps": 400} | options, lines, vllm=release)
    return unwatched(engine)


def quoting(seed: int) -> Engine:
    """Worlds of the campaign, in which prompts go on from what others generated."""
    return unwatched(prepare(*vllm_world(seed))[0])


def layered(seed: int) -> Engine:
    return unwatched(prepare(*more_world(seed, "window"))[0])


def drafting(seed: int) -> Engine:
    return unwatched(prepare(*more_world(seed, "spec"))[0])


def unwatched(engine: Engine) -> Engine:
    engine.observer = engine.manager.log = None
    engine.notices_stall = True  # nothing else ends a run whose steps take no time
    engine.cost = Price()
    return engine


def contiguous(seed: int, **options: bool) -> Engine:
    rng = random.Random(seed)
    config, lines = world(seed)
    config = {k: v for k, v in config.items() if k != "scheduler_reserve_full_isl"} | options
    rules = rules_of(config | {"max_model_len": rng.choice([40, 100, 300])}, NEWEST)
    size = config["block_size"]
    manager = ContiguousMemoryManager(
        rng.choice([400, 1000]) // size * size,
        rules.max_model_len,
        size,
        reserve=rng.choice(RESERVE),
        placement=rng.choice(PLACEMENT),
    )
    return Engine(workload_of(rows_of(lines, config), size), rules, manager, Price(), until_ps=10**9)


def paged_ahead(seed: int) -> Engine:
    return paged(seed, async_scheduling=True)


def contiguous_ahead(seed: int) -> Engine:
    return contiguous(seed, async_scheduling=True)


LEAPING = (paged, quoting, contiguous, paged_ahead, contiguous_ahead)
STEPPING = (layered, drafting)  # one step a call, whatever may be done


def differ(build: Callable[[int], Engine], seed: int) -> bool:
    single, *others = (run(build(seed), limit) for limit in LIMITS.values())
    return any(other != single for other in others)


@pytest.mark.parametrize("build", LEAPING)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
@example(seed=954)  # somebody waits for ever, asynchronously too
def test_any_number_of_steps_a_call_gives_one_run(build: Callable[[int], Engine], seed: int) -> None:
    assert not differ(build, seed)


@pytest.mark.parametrize("build", STEPPING)
def test_windows_and_drafts_give_one_run_too(build: Callable[[int], Engine]) -> None:
    assert not [seed for seed in range(12) if differ(build, seed)]


@pytest.mark.parametrize("build", LEAPING)
def test_leaps_are_taken_at_all(build: Callable[[int], Engine]) -> None:
    calls = dict.fromkeys(LIMITS, 0)
    for name, limit in LIMITS.items():
        for seed in range(20):
            engine = build(seed)
            while engine.step(limit or 5):
                calls[name] += 1
    assert calls["unlimited"] < calls["random"] < calls["single steps"]


def test_an_abort_far_ahead_lets_leap() -> None:
    calls = []
    for aborts in ([], [(10**9 * PS_PER_S, 0)]):
        load = workload([(0, 64, 500), (0, 64, 400)])
        engine = Engine(load, Rules(1000), PagedMemoryManager(4096, 16), Price(), abort_at=aborts)
        calls.append(0)
        while engine.step(UNLIMITED):
            calls[-1] += 1
        assert not engine.results.aborted, "it had ended long before"
    assert calls[0] == calls[1]


@pytest.mark.parametrize("build", LEAPING + STEPPING)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_log_of_what_happens_changes_nothing(build: Callable[[int], Engine], seed: int) -> None:
    logged = build(seed)
    logged.manager.log = OpLog()
    assert run(logged, None) == run(build(seed), None)
