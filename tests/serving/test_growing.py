"""An engine that is told its requests bit by bit decides what one decides that knows them all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.serving.growing import extend
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_NS

CHAT = load(str(path_of("chat")), limit=60)
LANES = ("contiguous:max", "paged", "paged:block_size=32", "orca:pow2", "static:8", "slots:4")


def lane_of(workload: Workload, spec: str) -> Lane:
    experiment = Experiment(
        workload,
        catalogue.model("llama-3.1-8b"),
        catalogue.gpu("a10g"),
        (LaneSpec.parse(spec),),
        slots=9_600,
        max_len=2048,
    )
    return experiment.build()[0]


def outcome(lane: Lane) -> tuple[object, ...]:
    results, scheduler = lane.engine.results, lane.engine.scheduler
    counters = lane.frame().counters
    return (
        *(list(column) for column in (results.first_token, results.finish, results.ttft, results.e2e)),
        results.refusals,
        scheduler.step,
        scheduler.preemptions,
        scheduler.prefix.hits,
        (counters.batch_mean, counters.split_mean),
    )


def fed(workload: Workload, spec: str, cuts: list[int], limit: int) -> Lane:
    """A lane that hears of its requests at some times (ns) only."""
    lane = lane_of(workload.head(0), spec)
    for cut in sorted(cuts):
        rows = int(np.searchsorted(workload.arrival_ns, cut))
        extend(lane.engine, workload.head(rows), until_ps=cut * PS_PER_NS)
        while lane.step(limit):
            pass
    extend(lane.engine, workload, until_ps=1 << 70)
    while lane.step(limit):
        pass
    return lane


@pytest.mark.parametrize("spec", LANES)
@pytest.mark.parametrize("limit", [1, 1 << 60])
def test_bit_by_bit_as_at_once(spec: str, limit: int) -> None:
    crowded = replace(CHAT, arrival_ns=CHAT.arrival_ns // 4)
    whole = lane_of(crowded, spec)
    while whole.step(limit):
        pass
    span = int(crowded.arrival_ns[-1])
    cuts = [at * span // 40 for at in range(1, 41)]
    assert outcome(fed(crowded, spec, cuts, limit)) == outcome(whole)


@settings(deadline=None, max_examples=25)
@given(
    cuts=st.lists(st.integers(1, 40_000_000_000), max_size=12),
    faster=st.sampled_from([1, 3, 30]),
    spec=st.sampled_from(["paged", "contiguous:max"]),
)
def test_whenever_it_hears_of_them(cuts: list[int], faster: int, spec: str) -> None:
    workload = replace(CHAT, arrival_ns=CHAT.arrival_ns // faster)
    whole = lane_of(workload, spec)
    while whole.step(1 << 60):
        pass
    assert outcome(fed(workload, spec, cuts, 1 << 60)) == outcome(whole)
