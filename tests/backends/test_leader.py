"""The thread that measures lanes has something to do while nobody asks for a step."""

from __future__ import annotations

import threading

import pytest

from kvtui.backends.leader import Leader
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.serving.engine import Engine
from kvtui.serving.measured import StepClock, StepTimes
from kvtui.serving.plan import Plan
from tests.bench.device_steps import workload


class Measuring:
    """A device on which every step takes a millisecond."""

    def __init__(self) -> None:
        self.times = StepTimes()
        self.released = threading.Event()

    def start(self, engine: Engine) -> StepClock:
        return self

    def duration(self, engine: Engine, plan: Plan) -> int:
        self.times.ps.append(10**9)
        return self.times.ps[-1]

    def release(self) -> None:
        self.released.set()


def engine() -> Engine:
    """Four requests that decode for a while."""
    model, gpu = catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g")
    tried = Experiment(workload(4, 100, 50), model, gpu, (LaneSpec("paged"),))
    return tried.build(watched=False)[0].engine


def test_it_rests_once_it_is_ahead_of_those_who_watch_and_again_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kvtui.backends.leader.AHEAD", 4)
    rested = threading.Event()
    leader, measuring = Leader(resting=rested.set), Measuring()
    leader.lead(engine(), measuring)
    try:
        measuring.times.wait(3)
        rested.clear()
        assert rested.wait(10)
        assert len(measuring.times.ps) == 4  # nobody has asked for a step yet
        measuring.times.seen = 10**6
        measuring.times.wait(10**6)
        assert measuring.times.complete
        rested.clear()
        assert rested.wait(10)
    finally:
        measuring.times.stop()
        leader.close()


def test_a_lane_that_is_dropped_gives_its_memory_back() -> None:
    leader, measuring = Leader(), Measuring()
    leader.lead(engine(), measuring)
    try:
        measuring.times.stop()
        assert measuring.released.wait(10)
    finally:
        leader.close()
