"""How many requests keep their limits: at every moment what counting them one by one says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.answers.report import summary
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.frames.slo import NO_LIMITS, Slo
from kvtui.units import PS_PER_S
from tests.tui.stagecraft import small, small_workload

LIMITS = (Slo(ttft_s=0.8), Slo(tpot_s=0.046), Slo(e2e_s=4.5), Slo(2.0, 0.05, 5.0), NO_LIMITS)


class Watcher:
    """Counts by what the engine tells of each request."""

    def __init__(self, lane: object, slo: Slo) -> None:
        self.good, self._slo = 0, slo
        camera = lane._camera
        told = camera.updated

        def updated(engine: object, plan: object) -> None:
            told(engine, plan)
            self.good += sum(self._kept(engine, request) for request in plan.finished)

        camera.updated = updated

    def _kept(self, engine: object, request: object) -> bool:
        first, end, slo = engine.results.first_token[request.number], engine.now_ps, self._slo
        each = (end - first) / max(request.output - 1, 1)
        times = (first - request.arrival, slo.ttft_s), (each, slo.tpot_s), (end - request.arrival, slo.e2e_s)
        return all(limit is None or time <= limit * PS_PER_S for time, limit in times)


def limited(slo: Slo, **changes: object) -> Experiment:
    return replace(small(), slo=slo, **changes)


@settings(deadline=None, max_examples=8)
@given(st.sampled_from(LIMITS), st.integers(1, 9))
def test_at_every_moment_as_many_as_counted_one_by_one(slo: Slo, every: int) -> None:
    for lane in limited(slo).build():
        watcher, going = Watcher(lane, slo), True
        while going:
            for _ in range(every):
                going = lane.step()
            assert lane.frame().counters.good == watcher.good
        counters = lane.frame().counters
        assert counters.good <= counters.finished == 60


def test_going_back_shows_the_former_number() -> None:
    lane = limited(LIMITS[2]).build()[1]
    history, seen = Checkpoints(lane, every=50), {}
    while lane.step():
        history.note(lane)
        seen[lane.step_count] = lane.frame().counters.good
    assert len({*seen.values()}) > 5
    for step in (400, 40, 333, 1):
        if step in seen:
            assert history.at_step(step).frame().counters.good == seen[step]


def test_in_a_closed_loop_a_request_is_sent_by_the_end_of_the_one_before() -> None:
    plain = small_workload()
    follows = np.arange(60) - 20
    workload = replace(
        plain,
        closed=True,
        follows=np.where(follows >= 0, follows, -1),
        waits_ns=np.where(follows >= 0, 50_000_000, -1),
    )
    slo = Slo(e2e_s=3.0)
    lane = limited(slo, workload=workload).build()[1]
    watcher = Watcher(lane, slo)
    while lane.step():
        assert lane.frame().counters.good == watcher.good
    assert 0 < watcher.good < 60


def test_who_waits_too_long_has_broken_the_limit_before_it_ends() -> None:
    slo = Slo(ttft_s=0.8, e2e_s=4.5)
    lane, late = limited(slo).build()[0], 0
    results, arrival = lane.engine.results, lane.engine.workload.arrival_ns * 1000
    while lane.step():
        now, under_way = lane.engine.now_ps, 0
        for n in range(lane.engine.known):
            first = results.first_token[n] if results.first_token[n] >= 0 else now
            too_late = first - arrival[n] > 0.8 * PS_PER_S or now - arrival[n] > 4.5 * PS_PER_S
            under_way += results.finish[n] < 0 and too_late
        late = max(late, under_way)
        assert lane.frame().counters.late == under_way
    assert late > 5
    assert lane.frame().counters.late == 0


def test_when_clients_send_nobody_notes_and_it_is_not_known() -> None:
    lane = limited(Slo(e2e_s=1.0), workload=replace(small_workload(), clients=4)).build()[1]
    while lane.step():
        pass
    assert lane.frame().counters.good is None


def test_a_rejected_request_has_kept_nothing() -> None:
    experiment = limited(Slo(e2e_s=1e6), slots=256)
    lanes = experiment.build(watched=False)
    for lane in lanes:
        lane.run()
    told = summary(experiment, lanes)["lanes"][1]
    ended = told["requests"]["finished"] + told["requests"]["rejected"]
    assert told["requests"]["rejected"] > 0
    assert told["slo"]["good"] == told["requests"]["finished"]
    assert told["slo"]["attainment"] == pytest.approx(told["requests"]["finished"] / ended, abs=1e-6)


def test_without_limits_nothing_is_said() -> None:
    experiment = limited(NO_LIMITS)
    assert summary(experiment, experiment.build(watched=False))["lanes"][0]["slo"] is None
    assert NO_LIMITS.text == ""


def test_limits_in_words() -> None:
    assert Slo(2, 0.05, 30).text == "TTFT 2 s, TPOT 50 ms, E2E 30 s"
