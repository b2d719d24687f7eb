"""kvtui takes the real scheduler's decisions in random worlds over every option.

Runs where vLLM is importable (see `tests/vllm/real.py`): `pytest -m vllm`. The seeds are those of the
campaign, `python -m tests.vllm.campaign --seeds 0:3000`, in parts; the rules are those of the vLLM found.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kvtui.decisions.recorded import decide
from tests.vllm.compare import difference
from tests.vllm.figures import Figures
from tests.vllm.real import RealScheduler, release_of, why_not
from tests.vllm.worlds import world

REASON = why_not()
pytestmark = [pytest.mark.vllm, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
PART = 250


@pytest.fixture(scope="module")
def real() -> Iterator[RealScheduler]:
    """One vLLM process for all parts: it is slow to start."""
    with RealScheduler() as scheduler:
        yield scheduler


@pytest.mark.parametrize("part", range(10))
def test_random_worlds(real: RealScheduler, part: int) -> None:
    figures = Figures()
    for seed in range(part * PART, part * PART + PART):
        config, lines = world(seed)
        recorded = real.record(config, lines)
        ours = decide(config, lines, vllm=release_of(real.version))
        assert difference(recorded, ours) is None, f"seed {seed}"
        figures.add((config, lines), recorded)
    assert figures.events["preempted"] > PART, "the worlds are too easy"
    assert figures.events["prefix hits"] > PART, "the worlds share too little"
