"""What every memory manager promises: `MemoryManager`, held against random work under the real scheduler.

A new manager is added to MANAGERS, and everything here has to hold for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules
from tests.serving.build import workload
from tests.serving.digest import Price, run

SLOTS, MAX_LEN = 480, 120
Build = Callable[[int, Rules], MemoryManager]

MANAGERS: dict[str, Build] = {
    "contiguous": lambda size, rules: ContiguousMemoryManager(SLOTS, MAX_LEN, size),
    "contiguous, powers of two": lambda size, rules: ContiguousMemoryManager(
        SLOTS, MAX_LEN, size, reserve="pow2", placement="buddy"
    ),
    "contiguous, exact": lambda size, rules: ContiguousMemoryManager(SLOTS, MAX_LEN, size, reserve="exact"),
    "contiguous, with states": lambda size, rules: ContiguousMemoryManager(
        SLOTS, MAX_LEN, size, reserve="exact", beside=20
    ),
    "paged": lambda size, rules: PagedMemoryManager(SLOTS, size),
    "paged, no cache": lambda size, rules: PagedMemoryManager(SLOTS, size, prefix_cache=False),
    "paged, old order of reuse": lambda size, rules: PagedMemoryManager(SLOTS, size, lifo=False),
    "groups of layers": lambda size, rules: GroupedMemoryManager(SLOTS, size, rules),
    "groups of layers, a window": lambda size, rules: GroupedMemoryManager(
        SLOTS, size, rules, layers=("full", f"sliding:{3 * size}", f"sliding:{3 * size}")
    ),
    "forks": lambda size, rules: ForkingMemoryManager(SLOTS, size),
}


class Watched:
    """A manager whose refusals must have had no effect, and whose levels must always add up."""

    def __init__(self, manager: MemoryManager) -> None:
        self._manager = manager
        self.refused = self.seen = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)

    def admit(self, request: Request, *rest: Any, **options: Any) -> bool:
        return self._tried([request], lambda: self._manager.admit(request, *rest, **options))

    def grow(self, request: Request, upto: int) -> bool:
        return self._tried([request], lambda: self._manager.grow(request, upto))

    def serve(self, step: int, chunks: Sequence[tuple[Request, int]]) -> bool:
        return self._tried([r for r, _ in chunks], lambda: self._manager.serve(step, chunks))

    def _tried(self, requests: list[Request], act: Callable[[], bool]) -> bool:
        memory, before = self._manager, self._state(requests)
        free = memory.free_blocks
        if act():
            return True
        self.refused += 1
        if memory.steady:
            assert self._state(requests) == before, "a refusal changed something"
        assert memory.free_blocks >= free, "a refusal took something"
        return False

    def _state(self, requests: list[Request]) -> tuple[Any, ...]:
        tables = [(r.table[:], r.computed, r.registered) for r in requests]
        return self._manager.levels(None), self._manager.free_blocks, self._manager.evictions, tables

    def look(self) -> None:
        """Every slot is held or free; holes and cached content are parts of what is free."""
        levels, manager = self._manager.levels(None), self._manager
        assert min(levels) >= 0
        assert levels.held + levels.free == manager.blocks * manager.block_size
        assert levels.hole + levels.cached <= levels.free
        assert levels.free == manager.free_blocks * manager.block_size
        self.seen += levels.held > 0


def engine(name: str, seed: int, *, watch: bool = True) -> Engine:
    """Random requests, some with a common prefix, on a pool that is too small for all of them."""
    rng = random.Random(seed)
    size = rng.choice([1, 2, 4, 8])
    rules = Rules(MAX_LEN, max_num_batched_tokens=rng.choice([16, 64, 300]), max_num_seqs=rng.choice([3, 64]))
    asks = sorted((rng.random() * 5e-8, rng.randint(1, 70), rng.randint(1, 60)) for _ in range(24))
    shared = rng.choice([0, 16])
    load = workload([(at, shared + prompt, output) for at, prompt, output in asks], shared=shared)
    manager: Any = MANAGERS[name](size, rules)
    return Engine(load, rules, Watched(manager) if watch else manager, Price(), until_ps=10**12)


@pytest.mark.parametrize("name", MANAGERS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_memory_adds_up_and_comes_back(name: str, seed: int) -> None:
    work = engine(name, seed)
    memory: Any = work.manager
    while work.step():
        memory.look()
    assert memory.seen
    assert work.results.finished + len(work.results.refusals) == len(work.workload)
    assert memory.levels(None).held == 0
    assert memory.free_blocks == memory.blocks


@pytest.mark.parametrize("name", MANAGERS)
def test_the_random_work_is_refused_memory(name: str) -> None:
    refused = 0
    for seed in range(6):
        work = engine(name, seed)
        work.run()
        refused += work.manager.refused  # type: ignore[attr-defined]
    assert refused > 10


@pytest.mark.parametrize("name", MANAGERS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_any_number_of_steps_a_call_gives_one_run(name: str, seed: int) -> None:
    singly, at_once = (run(engine(name, seed, watch=False), limit) for limit in (1, UNLIMITED))
    assert singly == at_once


@pytest.mark.parametrize("name", MANAGERS)
@settings(max_examples=12, deadline=None)
@given(size=st.sampled_from([1, 2, 4, 8]), prompt=st.integers(1, 100), output=st.integers(1, 100))
def test_a_request_alone_takes_what_was_said(name: str, size: int, prompt: int, output: int) -> None:
    """`need` is the most that it ever holds, `can_hold` is whether that is there, `fit` how often."""
    rules = Rules(MAX_LEN)
    work = Engine(workload([(0.0, prompt, output)]), rules, MANAGERS[name](size, rules), Price())
    memory, held, said = work.manager, 0, None
    while work.step():
        if said is None and work.scheduler.running:
            request = next(iter(work.scheduler.running.values()))
            said, fits = memory.need(request), memory.fit(request)
        held = max(held, memory.blocks - memory.free_blocks)
    if prompt >= MAX_LEN:
        assert work.results.refusals
    elif said is not None:
        assert held <= said <= fits * said <= memory.blocks
        assert name.startswith("contiguous") or memory.blocks < (fits + 1) * said
