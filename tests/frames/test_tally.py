"""What is told of prompts: chunks, hits within a step, the two hit rates, drafts, the first queue."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from kvtui.answers.report import summary
from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.frames.frame import Event, EventKind
from kvtui.hardware import catalogue
from kvtui.traces.workload import Workload

BLOCK, OPENING = 16, 64


def workload(prompts: list[int], *, at_ms: list[int], output: int = 8, slots: int = 4096) -> Workload:
    """Prompts that begin with the same 64 tokens."""
    n, units = len(prompts), OPENING // BLOCK
    return Workload(
        name="made",
        format="made",
        arrival_ns=np.array(at_ms, np.int64) * 1_000_000,
        prompt=np.array(prompts, np.int64),
        output=np.full(n, output),
        line=np.zeros(n, np.int64),
        unit=BLOCK,
        chain=np.tile(np.arange(units), n),
        chain_start=np.arange(n + 1) * units,
        identified=np.full(n, OPENING),
        max_len=1024,
        slots=slots,
    )


def ran(made: Workload, **options: object) -> tuple[Experiment, Lane, list[Event]]:
    experiment = Experiment(
        made,
        catalogue.model(DEFAULT_MODEL),
        catalogue.gpu(DEFAULT_GPU),
        (LaneSpec.parse("paged"),),
        **options,  # type: ignore[arg-type]
    )
    (lane,) = experiment.build()
    while lane.step():
        pass
    return experiment, lane, list(reversed(lane.frame(events=500).events))


def of(events: list[Event], kind: EventKind) -> list[tuple[int, int, int]]:
    return [(event.request, event.a, event.b) for event in events if event.kind is kind]


@pytest.mark.parametrize("explicit", [False, True])
def test_a_prompt_larger_than_a_step_is_told_chunk_by_chunk(explicit: bool) -> None:
    made = workload([300], at_ms=[0])
    experiment, lane, events = ran(made, max_num_batched_tokens=128, async_scheduling=explicit)
    assert of(events, EventKind.CHUNK) == [(0, 128, 0), (0, 128, 128)]
    assert lane.frame().counters.chunks == 2
    assert summary(experiment, [lane])["lanes"][0]["prefill_chunks"] == 2


@pytest.mark.parametrize("explicit", [False, True])
def test_a_hit_in_blocks_of_the_same_step_is_told_apart(explicit: bool) -> None:
    together = workload([100, 120], at_ms=[0, 0])
    experiment, lane, events = ran(together, async_scheduling=explicit)
    assert of(events, EventKind.HIT) == [(1, OPENING, 120)]
    assert of(events, EventKind.SAME_STEP_HIT) == [(1, OPENING, 120)]
    assert summary(experiment, [lane])["lanes"][0]["prefix"]["same_step_hit_tokens"] == OPENING
    _, later, events = ran(workload([100, 120], at_ms=[0, 5_000]), async_scheduling=explicit)
    assert of(events, EventKind.HIT) == [(1, OPENING, 120)]
    assert not of(events, EventKind.SAME_STEP_HIT)
    assert later.frame().counters.same_step_hit_tokens == 0


def test_drafts_are_counted_as_what_they_are() -> None:
    made = workload([100], at_ms=[0], output=60)
    experiment, lane, _ = ran(made, spec_method="ngram", acceptance=(0.5,))
    counters = lane.frame().counters
    assert 0 < counters.accepted_draft_tokens < counters.draft_tokens
    report = summary(experiment, [lane])["lanes"][0]["speculation"]
    assert report["num_draft_tokens"] == counters.draft_tokens


def test_what_is_headless_counts_the_same() -> None:
    made = workload([300, 120, 90], at_ms=[0, 0, 10])
    experiment, watched, _ = ran(made, max_num_batched_tokens=128)
    (blind,) = experiment.build(watched=False)
    blind.run()
    texts = [json.dumps(summary(replace(experiment), [lane])) for lane in (watched, blind)]
    assert texts[0] == texts[1]
