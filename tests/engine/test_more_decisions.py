"""Drafts, windows and hybrid models: the decisions of the real vLLM scheduler, and of the plain simulator."""

from __future__ import annotations

import pytest

from kvtui.decisions import decide
from tests.shared import needs_shared
from tests.vllm.compare import difference
from tests.vllm.more_cases import CASES, read
from tests.vllm.more_worlds import KINDS, more_world

SEEDS = range(40)


@pytest.mark.parametrize("name", CASES)
def test_recorded_case(name: str) -> None:
    world, recorded = read(name)
    assert difference(recorded, decide(*world)) is None


@needs_shared
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_random_worlds(kind: str, asynchronous: bool) -> None:
    from tests.vllm.plain.simulator import Sim

    preempted = 0
    for seed in SEEDS:
        config, lines = more_world(seed, kind, asynchronous=asynchronous)
        config.pop("record_free_queue", None)
        config["max_steps"] = 100
        theirs = list(Sim(config, lines).run())
        assert difference(theirs, decide(config, lines)) is None, f"seed {seed}"
        preempted += sum(len(line.get("preempted", ())) for line in theirs)
    assert preempted > 20, "the worlds are too easy"
