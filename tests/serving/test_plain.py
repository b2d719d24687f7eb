"""Plain rounds leave exactly what single steps leave, and are what a plain run consists of."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.plain import PlainRounds, plain_rounds
from kvtui.serving.rules import RELEASES, Rules
from tests.serving.build import outside_rounds, workload
from tests.serving.digest import Price, digest, run
from tests.serving.talks import talking
from tests.serving.test_leaps import paged, quoting


def plain(seed: int) -> Engine:
    """Bursts and gaps, pools and batches from tight to ample, now and then a prefix in common."""
    rng = random.Random(seed)
    size = rng.choice([1, 2, 4, 16])
    longest = rng.choice([4, 30, 200])
    gap = rng.choice([0, 1e-7, 1e-5, 1e-4])
    asks, now = [], 0.0
    for _ in range(rng.randint(1, 60)):
        now += rng.choice([0, 0, rng.random()]) * gap
        asks.append(
            (now, rng.randint(1, longest), rng.choice([0, 1, 2, rng.randint(2, 20), rng.randint(2, 200)]))
        )
    shared = rng.choice([0, 0, size]) if longest >= 4 * size else 0
    asks = [(at, max(prompt, shared), output) for at, prompt, output in asks]
    rules = Rules(
        1000,
        max_num_seqs=rng.choice([1, 3, 8, 256]),
        max_num_batched_tokens=rng.choice([longest // 2 + 8, longest + 8, 4 * longest + 300]),
        watermark=rng.choice([0.0, 0.0, 0.1]),
    )
    blocks = rng.choice([8, 40, 200, 3000]) + 1200 // size * rng.choice([0, 1])
    manager = PagedMemoryManager(blocks * size, size, prefix_cache=rng.random() < 0.7)
    load = replace(workload(asks, shared=shared, unit=size), clients=rng.choice([0, 0, 1, 7]))
    return Engine(load, rules, manager, Price())


def tight(seed: int) -> Engine:
    """By the rules of any release, in order of arrival or by priority, in pools that are often too small."""
    rng, engine = random.Random(seed), plain(seed)
    load, size, rows = engine.workload, engine.manager.block_size, len(engine.workload)
    release = RELEASES[rng.choice(list(RELEASES))]
    rules = replace(engine.rules, release=release, policy=rng.choice(["fcfs", "fcfs", "priority"]))
    load = replace(load, priority=np.array([rng.randint(0, 2) for _ in range(rows)]))
    blocks = -(-int(max(load.prompt + load.output)) // size) + rng.choice([0, 4, rng.randint(0, 60)])
    cached = engine.manager.prefix_cache
    manager = PagedMemoryManager(blocks * size, size, prefix_cache=cached, lifo=release.lifo)
    return Engine(load, rules, manager, Price())


def at_once(engine: Engine) -> Engine:
    while engine.run():
        pass
    return engine


def in_turns(engine: Engine, seed: int) -> Engine:
    """Plain rounds, leaps and single steps by turns, with a look at the figures now and then."""
    rng = random.Random(seed)
    going = True
    while going:
        single = rng.random() < 0.4
        going = engine.step(rng.choice([1, 3, UNLIMITED])) if single else engine.run(rng.randint(1, 9))
        if rng.random() < 0.1:
            assert engine.meter.time <= engine.now_ps
    return engine


@pytest.mark.parametrize("build", [plain, tight, paged, quoting, talking])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rounds_leave_what_single_steps_leave(build, seed: int) -> None:  # type: ignore[no-untyped-def]
    single = run(build(seed), 1)
    assert digest(at_once(build(seed))) == single
    assert digest(in_turns(build(seed), seed)) == single


@pytest.mark.parametrize("shared", [0, 32])
def test_a_plain_run_consists_of_rounds(shared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "step", outside_rounds)
    asks = [(0.001 * (i // 3), 40 + i % 7, 1 + i % 90) for i in range(200)]
    load = workload(asks, shared=shared)
    engine = Engine(load, Rules(1000, max_num_seqs=4), PagedMemoryManager(4096), Price())
    assert not engine.run()
    assert bool(engine.scheduler.prefix.hits) == bool(shared)
    assert engine.results.finished == 200


@pytest.mark.parametrize("release", RELEASES)
def test_a_run_in_too_small_a_pool_consists_of_rounds(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "step", outside_rounds)
    asks = [(0.001 * (i // 3), 40 + i % 7, 1 + i % 90) for i in range(200)]
    rules = Rules(1000, max_num_seqs=8, release=RELEASES[release])
    engine = Engine(workload(asks), rules, PagedMemoryManager(240, lifo=rules.release.lifo), Price())
    assert not engine.run()
    assert engine.results.finished == 200
    assert engine.scheduler.preemptions > 20


def test_who_watches_sees_every_step() -> None:
    engine = plain(0)
    assert isinstance(plain_rounds(engine), PlainRounds)
    engine.clock = object()  # type: ignore[assignment]
    assert plain_rounds(engine) is None
