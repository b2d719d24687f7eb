"""Steps that need no look: nothing but tokens that fill blocks which are there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvtui.serving.engine import Engine
from kvtui.serving.quiet import quiet_steps
from tests.serving.digest import digest, run
from tests.serving.test_leaps import contiguous, drafting, paged

SEEDS = range(12)


def seen(engine: Engine) -> list[tuple[int, list[int]]]:
    """Who runs, and with which blocks."""
    return [(r.number, r.table[:]) for r in engine.scheduler.running.values()]


@pytest.mark.parametrize("build", [paged, contiguous])
def test_nothing_is_to_be_seen_in_quiet_steps_and_something_right_after(
    build: Callable[[int], Engine],
) -> None:
    quiet = 0
    for seed in SEEDS:
        engine, going = build(seed), True
        while going:
            steps, before, at = quiet_steps(engine), seen(engine), engine.scheduler.step
            going = engine.step(max(steps, 1))
            if steps:
                quiet += 1
                assert seen(engine) == before
                assert engine.scheduler.step <= at + steps
                if build is paged and going and engine.scheduler.step == at + steps and engine.undisturbed:
                    going = engine.step()
                    assert seen(engine) != before
        assert digest(engine) == run(build(seed), 1)
    assert quiet > 10


def test_where_drafts_decide_every_step_no_step_is_quiet() -> None:
    for seed in SEEDS:
        engine = drafting(seed)
        while engine.step():
            assert not quiet_steps(engine)
