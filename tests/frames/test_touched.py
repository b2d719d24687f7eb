"""A picture of memory says which blocks can differ from the one before, and no other block does."""

from __future__ import annotations

import numpy as np
import pytest

from kvtui.cli.build import with_sequences
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.frames.frame import Cells
from kvtui.hardware import catalogue
from tests.answers.test_report import experiment
from tests.tui.stagecraft import small_workload

STRIDES = (1, 3, 1, 7, 2)  # steps between two pictures


def different(one: Cells, other: Cells) -> set[int]:
    pairs = ((one.state, other.state), (one.owner, other.owner), (one.stored, other.stored))
    return {int(at) for a, b in (*pairs, (one.refs, other.refs)) for at in np.flatnonzero(a != b)}


def made(lane: str, model: str = "llama-3.1-8b", *, samples: int = 1, **options: object) -> Experiment:
    facts, gpu = catalogue.model(model), catalogue.gpu("a10g")
    workload = with_sequences(small_workload(60), samples=samples if samples > 1 else None, beams=None)
    return Experiment(workload, facts, gpu, (LaneSpec.parse(lane),), **options)


@pytest.mark.parametrize(
    "what",
    [
        made("paged", slots=1_200),
        made("paged", slots=1_200, async_scheduling=True),
        made("paged", "gemma-3-12b", slots=4_000),
        made("vllm-sosp:swap", slots=1_200, samples=3),
        experiment("shared-prefix", "paged"),
    ],
    ids=["small pool", "asynchronous", "windows", "samples", "shared prefixes"],
)
def test_what_differs_is_told(what: Experiment) -> None:
    (lane,) = what.build()
    before, compared = lane.frame().cells, 0
    for at in range(160):
        for _ in range(STRIDES[at % len(STRIDES)]):
            lane.step()
        now = lane.frame().cells
        if now.touched is not None and before.touched is not None:
            assert now.touched.since is before.touched.now
            assert different(before, now) <= set(now.touched.blocks.tolist())
            compared += 1
        before = now
    assert compared > 10
    assert different(before, lane.frame().cells) == set()


def test_a_picture_knows_after_which_it_was_taken() -> None:
    (lane,) = made("paged").build()
    (other,) = made("paged").build()
    first, second = lane.frame().cells.touched, lane.frame().cells.touched
    stranger = other.frame().cells.touched
    assert first is not None
    assert second is not None
    assert stranger is not None
    assert second.since is first.now
    assert stranger.since is not first.now
