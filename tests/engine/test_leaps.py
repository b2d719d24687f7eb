"""Leaping over k steps leaves exactly what k single steps leave: one world, one digest."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.decisions import prepare, rows_of, rules_of, workload_of
from kvtui.engine import Engine
from kvtui.memory.contiguous import PLACEMENT, RESERVE, ContiguousMemoryManager
from kvtui.rules import NEWEST, RELEASES
from tests.engine.digest import LIMITS, Price, run
from tests.engine.worlds import world
from tests.vllm.more_worlds import more_world


def paged(seed: int) -> Engine:
    config, lines = world(seed)
    release = random.Random(seed).choice([NEWEST] * 3 + list(RELEASES))
    engine, _ = prepare(config | {"max_steps": 2000}, lines, vllm=release)
    engine.observer = engine.manager.log = None
    engine.cost = Price()
    return engine


def layered(seed: int) -> Engine:
    engine, _ = prepare(*more_world(seed, "window"))
    engine.observer = engine.manager.log = None
    engine.cost = Price()
    return engine


def contiguous(seed: int) -> Engine:
    rng = random.Random(seed)
    config, lines = world(seed)
    config = {k: v for k, v in config.items() if k != "scheduler_reserve_full_isl"}
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


@pytest.mark.parametrize("build", [paged, contiguous])
@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_number_of_steps_a_call_gives_one_run(build, seed: int) -> None:
    single, *others = (run(build(seed), limit) for limit in LIMITS.values())
    for other in others:
        assert other == single


def test_windows_give_one_run_too() -> None:
    for seed in range(25):
        single, *others = (run(layered(seed), limit) for limit in LIMITS.values())
        for other in others:
            assert other == single


def test_leaps_are_taken_at_all() -> None:
    calls = dict.fromkeys(LIMITS, 0)
    for name, limit in LIMITS.items():
        for seed in range(30):
            engine = contiguous(seed)
            while engine.step(limit or 5):
                calls[name] += 1
    assert calls["unlimited"] < calls["random"] < calls["single steps"]
