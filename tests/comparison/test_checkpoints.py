"""Going back: whatever the way, a step shows what it showed in a straight run."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.frames.frame import Frame
from tests.answers.test_report import experiment

LANES = ("contiguous", "paged", "paged:block_size=64")
STEPS = 900


@cache
def tried(name: str) -> Experiment:
    return experiment(name, *LANES)


@cache
def straight(name: str, at: int) -> tuple[Frame, ...]:
    """A frame after every step."""
    lane = tried(name).build()[at]
    frames = [lane.frame()]
    while lane.step_count < STEPS and lane.step():
        frames.append(lane.frame())
    return tuple(frames)


def same(one: Frame, other: Frame) -> None:
    for name in Frame.__slots__:
        if name == "cells":
            for mine, theirs in zip(
                (one.cells.state, one.cells.owner, one.cells.stored, one.cells.refs),
                (other.cells.state, other.cells.owner, other.cells.stored, other.cells.refs),
                strict=True,
            ):
                assert np.array_equal(mine, theirs)
        else:
            assert getattr(one, name) == getattr(other, name), name


def saved(name: str, at: int, **options: int) -> tuple[Lane, Checkpoints]:
    lane = tried(name).build()[at]
    checkpoints = Checkpoints(lane, **options)
    while lane.step_count < STEPS and lane.step():
        checkpoints.note(lane)
    return lane, checkpoints


@pytest.mark.parametrize("name", ["burst", "shared-prefix", "agent"])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_any_way_to_a_step_shows_the_same(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(LANES) - 1))
    every = data.draw(st.sampled_from([32, 256]))
    lane, checkpoints = saved(name, at, every=every)
    frames = straight(name, at)
    assert len(frames) == lane.step_count + 1
    for _ in range(6):
        step = data.draw(st.integers(0, len(frames) - 1))
        lane = checkpoints.at_step(step)
        if data.draw(st.booleans()):
            lane.frame()
        for further in range(step, min(step + data.draw(st.integers(0, 30)), len(frames) - 1)):
            same(lane.frame(), frames[further])
            lane.step()
        same(lane.frame(), frames[lane.step_count])


def test_to_a_time() -> None:
    _, checkpoints = saved("burst", 1)
    frames = straight("burst", 1)
    for time in (0.0, 3.5, 17.25, frames[-1].time_s):
        lane = checkpoints.at_time(round(time * 1e12))
        same(lane.frame(), frames[lane.step_count])
        assert lane.next_ps >= round(time * 1e12) or lane.done
        assert lane.step_count == 0 or frames[lane.step_count - 1].time_s < time


def test_saved_states_stay_within_their_budget() -> None:
    lane, checkpoints = saved("burst", 1, every=8, budget=2 << 20)
    sizes = [len(state) for state, _ in checkpoints._states]
    assert sum(sizes) <= (2 << 20) + max(sizes)
    assert len(sizes) > 3
    same(checkpoints.at_step(700).frame(), straight("burst", 1)[700])
    assert lane.step_count == STEPS


def test_the_way_back_is_short_after_it_has_been_gone_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a run without a limit few states are saved; running again to a step saves those on the way."""
    lane = tried("burst").build()[1]
    checkpoints = Checkpoints(lane, every=64)
    while lane.step_count < STEPS and lane.step():
        pass
    assert checkpoints.at_step(800).step_count == 800
    steps = []
    monkeypatch.setattr(Lane, "step", lambda lane, limit=1: steps.append(1) or lane.engine.step(limit))
    same(checkpoints.at_step(799).frame(), straight("burst", 1)[799])
    assert 0 < len(steps) <= 64
