"""Asynchronous runs that nobody watches leave exactly what full steps by all the rules leave."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.decisions.recorded import prepare
from kvtui.memory.contiguous import PLACEMENT, RESERVE, ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.ahead import AheadRounds, ahead_rounds
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.serving.rules import RELEASES, Rules
from tests.serving.build import outside_rounds, workload
from tests.serving.digest import Price, digest, run
from tests.serving.test_leaps import contiguous_ahead, paged_ahead, unwatched
from tests.serving.test_plain import at_once, in_turns, plain, tight
from tests.serving.worlds import World, world
from tests.vllm.worlds import world as vllm_world

Build = Callable[[int], Engine]
POLICIES = ("fcfs", "fcfs", "priority")


class Onlooker:
    """Where somebody watches an asynchronous run, every step is a full one."""

    def scheduled(self, engine: Engine, plan: Plan) -> None: ...

    updated = scheduled

    def arrived(self, engine: Engine, request: Request) -> None: ...

    rejected = aborted = arrived

    def idle(self, engine: Engine) -> None: ...


def watched(engine: Engine) -> dict[str, Any]:
    """What is left by full steps alone."""
    engine.observer = Onlooker()
    return run(engine, 1)


def plain_ahead(seed: int) -> Engine:
    """Bursts and gaps, in pools of any size, by the rules of any release, in order of arrival or by
    priority."""
    rng = random.Random(seed)
    engine = rng.choice([plain, tight])(seed)
    release, manager = RELEASES[rng.choice(list(RELEASES))], engine.manager
    rules = replace(engine.rules, async_scheduling=True, release=release, policy=rng.choice(POLICIES))
    load = replace(engine.workload, priority=np.array([rng.randint(0, 2) for _ in engine.workload.prompt]))
    manager = PagedMemoryManager(
        manager.blocks * manager.block_size,
        manager.block_size,
        prefix_cache=manager.prefix_cache,
        lifo=release.lifo,
    )
    return Engine(load, rules, manager, engine.cost)


def tame(made: World, seed: int) -> Engine:
    """A world without what rounds never do: nobody leaves, prompts have no cap."""
    rng, (config, rows) = random.Random(seed), made
    config = {key: option for key, option in config.items() if not key.startswith("long_prefill")}
    config |= {"policy": rng.choice(POLICIES), "enable_chunked_prefill": True}
    config |= {"async_scheduling": True, "max_steps": 400}
    rows = [{key: cell for key, cell in row.items() if key != "abort_step"} for row in rows]
    return unwatched(prepare(config, rows, vllm=rng.choice(list(RELEASES)))[0])


def in_step(made: World, seed: int) -> Engine:
    """The same without asynchronous scheduling, by the rules of any release, now and then by priority."""
    rng, (config, rows) = random.Random(seed), made
    config = {key: option for key, option in config.items() if not key.startswith("long_prefill")}
    config |= {"policy": rng.choice(POLICIES), "async_scheduling": False}
    rows = [{key: cell for key, cell in row.items() if key != "abort_step"} for row in rows]
    return unwatched(prepare(config | {"max_steps": 400}, rows, vllm=rng.choice(list(RELEASES)))[0])


def tight_ahead(seed: int) -> Engine:
    """Prefixes in common, answers that end before they must, preemptions."""
    return tame(world(seed), seed)


def quoting_ahead(seed: int) -> Engine:
    """Prompts that go on from what others generated."""
    return tame(vllm_world(seed), seed)


def talks(seed: int) -> World:
    """Talks whose turns come while the one before is still being answered, or soon after."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for i in range(rng.randint(10, 40)):
        parts: list[list[Any]] = [[rng.choice(["system", f"own{i}"]), rng.randint(1, 12)]]
        if i and rng.random() < 0.7:
            said = rows[rng.randrange(max(0, i - 6), i)]
            told = rng.choice([said["output_tokens"], rng.randint(1, said["output_tokens"])])
            parts = [*said["prompt_segments"], [f"out:{said['id']}", told]]
            parts += rng.choice([[], [[f"own{i}", rng.randint(1, 6)]]])
        row = {"id": f"r{i}", "arrival_step": rng.randint(0, rng.choice([60, 300, 600]))}
        row |= {"prompt_segments": parts, "prompt_tokens": sum(n for _, n in parts)}
        rows.append(row | {"output_tokens": rng.randint(1, 30)})
    config = {"block_size": rng.randint(1, 4), "max_num_seqs": rng.choice([4, 8, 64]), "max_model_len": 600}
    config |= {
        "num_gpu_blocks": rng.choice([40, 80, 150, 1000]),
        "max_num_batched_tokens": rng.choice([70, 300]),
    }
    return config, rows


def talking_ahead(seed: int) -> Engine:
    return tame(talks(seed), seed)


def tight_in_step(seed: int) -> Engine:
    return in_step(world(seed), seed)


def quoting_in_step(seed: int) -> Engine:
    return in_step(vllm_world(seed), seed)


def talking_in_step(seed: int) -> Engine:
    return in_step(talks(seed), seed)


def region_ahead(seed: int) -> Engine:
    """Regions reserved in full, with states beside or without."""
    engine, rng = plain_ahead(seed), random.Random(seed)
    rules = replace(engine.rules, max_model_len=rng.choice([300, 1000]))
    size = engine.manager.block_size
    manager = ContiguousMemoryManager(
        rng.choice([1000, 3000, 20_000]) // size * size,
        rules.max_model_len,
        size,
        reserve=rng.choice(RESERVE),
        placement=rng.choice(PLACEMENT),
        beside=rng.choice([0, 7]),
    )
    return Engine(engine.workload, rules, manager, engine.cost)


AHEAD = (plain_ahead, tight_ahead, quoting_ahead, talking_ahead, paged_ahead, region_ahead)


IN_STEP = (tight_in_step, quoting_in_step, talking_in_step)


def pickled(engine: Engine, seed: int) -> Engine:
    """Saved and gone on with again and again."""
    rng = random.Random(seed)
    while engine.run(rng.randint(1, 12)):
        preparation, engine._prepare = engine._prepare, None
        engine = pickle.loads(pickle.dumps(engine))
        engine._prepare = preparation
    return engine


@pytest.mark.parametrize("build", [paged_ahead, contiguous_ahead])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_leaps_leave_what_full_steps_leave(build: Build, seed: int) -> None:
    assert run(build(seed), UNLIMITED) == watched(build(seed))


@pytest.mark.parametrize("build", AHEAD)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rounds_leave_what_full_steps_leave(build: Build, seed: int) -> None:
    steps = watched(build(seed))
    assert digest(at_once(build(seed))) == steps
    assert digest(in_turns(build(seed), seed)) == steps
    assert digest(pickled(build(seed), seed)) == steps


@pytest.mark.parametrize("build", IN_STEP)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rounds_in_step_leave_what_single_steps_leave(build: Build, seed: int) -> None:
    steps = run(build(seed), 1)
    assert digest(at_once(build(seed))) == steps
    assert digest(in_turns(build(seed), seed)) == steps
    assert digest(pickled(build(seed), seed)) == steps


@pytest.mark.parametrize("prompt", [1, 2, 17])
def test_a_prompt_of_any_length_has_a_first_token(prompt: int) -> None:
    rules = Rules(1000, max_num_batched_tokens=16, async_scheduling=True)
    engine = Engine(workload([(0, prompt, 50)]), rules, PagedMemoryManager(4096), Price())
    while engine.step(UNLIMITED):
        pass
    assert engine.results.first_token[0] > 0
    assert engine.results.tpot[0] < engine.now_ps / 49


@pytest.mark.parametrize("make", [PagedMemoryManager, lambda slots: ContiguousMemoryManager(slots, 1000)])
def test_an_ahead_run_consists_of_rounds(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[int], MemoryManager]
) -> None:
    monkeypatch.setattr(Engine, "step", outside_rounds)
    asks = [(0.001 * (i // 3), 40 + i % 7, 1 + i % 90) for i in range(200)]
    rules = Rules(1000, max_num_seqs=4, async_scheduling=True)
    engine = Engine(workload(asks, shared=32), rules, make(4096), Price())
    assert not engine.run()
    assert engine.results.finished == 200


def test_between_calls_all_is_explicit() -> None:
    asks = [(0.0, 30 + 40 * i, 20 + i) for i in range(6)]
    rules = Rules(1000, max_num_batched_tokens=64, async_scheduling=True)
    by_rounds, by_steps = (Engine(workload(asks), rules, PagedMemoryManager(4096), Price()) for _ in range(2))
    by_steps.observer = Onlooker()
    for _ in range(200):
        if not by_rounds.run(1):
            return
        while by_steps.scheduler.step < by_rounds.scheduler.step:
            by_steps.step()
        assert explicit(by_rounds) == explicit(by_steps)
    raise AssertionError("it never ends")


def explicit(engine: Engine) -> dict[str, Any]:
    """State of all who run, what is in flight, and what was measured so far."""
    scheduler = engine.scheduler
    names = ("generated", "computed", "placeholders", "inflight", "cached", "prefilling", "chunking", "table")
    return {
        "running": [[getattr(r, name) for name in names] for r in scheduler.running.values()],
        "flight": [[(a.request.number, *a[1:4]) for a in batch] for batch in scheduler._flight],  # type: ignore[attr-defined]
        "chunking": [r.number for r in scheduler._chunking],
        "digest": digest(engine),
    }


def test_who_watches_has_no_rounds() -> None:
    engine = plain_ahead(0)
    assert isinstance(ahead_rounds(engine), AheadRounds)
    engine.observer = Onlooker()
    assert ahead_rounds(engine) is None
