"""Asynchronous runs that nobody watches leave exactly what full steps by all the rules leave."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules
from tests.serving.build import workload
from tests.serving.digest import Price, run
from tests.serving.test_leaps import contiguous_ahead, paged_ahead


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


@pytest.mark.parametrize("build", [paged_ahead, contiguous_ahead])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_leaps_leave_what_full_steps_leave(build, seed: int) -> None:  # type: ignore[no-untyped-def]
    assert run(build(seed), UNLIMITED) == watched(build(seed))


@pytest.mark.parametrize("prompt", [1, 2, 17])
def test_a_prompt_of_any_length_has_a_first_token(prompt: int) -> None:
    rules = Rules(1000, max_num_batched_tokens=16, async_scheduling=True)
    engine = Engine(workload([(0, prompt, 50)]), rules, PagedMemoryManager(4096), Price())
    while engine.step(UNLIMITED):
        pass
    assert engine.results.first_token[0] > 0
    assert engine.results.tpot[0] < engine.now_ps / 49
