"""A branch goes on from where its lane stands, and becomes a run that the invariants hold for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.comparison.branching import branch
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.frames.frame import EventKind
from kvtui.frames.inspection import Stand, inspect
from tests.answers.test_report import experiment as bundled
from tests.comparison.test_checkpoints import same
from tests.tui.stagecraft import small

SPECS = (
    "paged:128",
    "paged:8",
    "contiguous",
    "contiguous:pow2",
    "paged:prefix_cache=off",
    "paged:kv_dtype=fp8",
)


def standing(experiment: Experiment, step: int) -> Lane:
    lane = experiment.build()[0]
    while lane.step_count < step and lane.step():
        pass
    return lane


@pytest.mark.parametrize("text", SPECS)
@settings(max_examples=4, deadline=None)
@given(step=st.integers(0, 220))
def test_everybody_is_served_in_the_end(text: str, step: int) -> None:
    experiment = small("paged", requests=150)
    parent = standing(experiment, step)
    before = parent.frame()
    new = branch(standing(experiment, step), experiment, LaneSpec.parse(text))
    first = new.frame()
    assert (first.step, first.time_s) == (before.step, before.time_s)
    assert first.counters.running == 0
    assert first.counters.waiting == before.counters.waiting + before.counters.running
    assert first.counters.finished == before.counters.finished
    assert first.counters.output_tokens == before.counters.output_tokens
    assert first.batch[:-1] == before.batch[: len(first.batch) - 1]
    new.run()
    last = new.frame()
    assert last.counters.finished + last.counters.rejected == 150
    tokens = sum(int(n) for n in experiment.workload.output)
    assert last.counters.output_tokens == tokens or last.counters.rejected
    new.engine.manager.check()
    assert sum(last.counters.split_mean) == pytest.approx(100)


@pytest.mark.parametrize("text", SPECS)
def test_free_memory_is_counted_by_the_size_that_it_had(text: str) -> None:
    experiment = small("paged", requests=150)
    before = standing(experiment, 100).engine
    new = branch(standing(experiment, 100), experiment, LaneSpec.parse(text))
    new.run()
    meter, then = new.engine.meter, before.meter
    sizes = [engine.manager.blocks * engine.manager.block_size for engine in (before, new.engine)]
    assert meter.free + meter.held == sizes[0] * then.time + sizes[1] * (meter.time - then.time)
    assert meter.free >= meter.cached


def test_a_branch_with_the_same_setting_differs_by_the_restart_alone() -> None:
    experiment = small("paged", requests=150)
    new = branch(standing(experiment, 100), experiment, LaneSpec("paged"))
    ran = {row.request for row in standing(experiment, 100).frame().running}
    new.step()
    frame, told = new.frame(), new.chronicle
    again = [event for event in told.story(10**9) if event.kind is EventKind.RESTARTED]
    assert {event.request for event in again} == ran
    for request in list(ran)[:5]:
        seen = inspect(new.info, frame, told, request)
        assert seen.life[0].kind is EventKind.ARRIVED, "its life before is not forgotten"
        assert seen.stand in (Stand.RUNNING, Stand.PREEMPTED)
    assert "from" in new.info.subtitle


def test_going_back_within_a_branch_shows_what_it_showed() -> None:
    experiment = small("paged", requests=150)
    new = branch(standing(experiment, 80), experiment, LaneSpec.parse("paged:32"))
    saved, frames = Checkpoints(new, every=16), [new.frame()]
    for _ in range(60):
        new.step()
        saved.note(new)
        frames.append(new.frame())
    for at in (59, 3, 40, 0, 17):
        same(saved.at_step(80 + at).frame(), frames[at])
    same(saved.at_time(0).frame(), frames[0])


def test_closed_loops_and_shared_prefixes_go_on() -> None:
    shared = bundled("shared-prefix", "paged")
    new = branch(standing(shared, 200), shared, LaneSpec.parse("paged:32"))
    for _ in range(200):
        new.step()
    assert new.frame().counters.hit_tokens > 0
    new.engine.manager.check()


def test_asynchronous_scheduling_has_no_moment_to_branch_from() -> None:
    from dataclasses import replace

    experiment = replace(small("paged"), async_scheduling=True)
    with pytest.raises(ConfigError, match="no moment"):
        branch(standing(experiment, 20), experiment, LaneSpec("paged"))
