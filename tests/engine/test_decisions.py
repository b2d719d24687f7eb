"""The paged lane takes the decisions of the real vLLM scheduler, block ids and free-queue order included."""

from __future__ import annotations

import gzip
import importlib.util
import itertools
import json
import random
from types import ModuleType
from typing import Any

import pytest

from kvtui.decisions import decide, read_case
from kvtui.rules import NEWEST, RELEASES
from tests.engine.worlds import world
from tests.shared import SHARED, needs_shared

RECORDED = SHARED / "vllm-decisions"
CASES = sorted(p.parent.name for p in RECORDED.glob("*/decisions.jsonl.gz"))
FULL_NAME = {"0.20": "0.20.2"}


def same(recorded: dict[str, Any] | None, ours: dict[str, Any] | None) -> None:
    """One line against the other, the order of the batch included."""
    ours = json.loads(json.dumps(ours))
    assert recorded is not None
    assert ours is not None
    recorded.pop("free_queue", None)
    assert ours == recorded
    assert list(ours["scheduled"]) == list(recorded["scheduled"])


@needs_shared
@pytest.mark.parametrize("case", CASES)
def test_recorded_case(case: str) -> None:
    folder = RECORDED / case
    with gzip.open(folder / "decisions.jsonl.gz", "rt") as stream:
        recorded = [json.loads(line) for line in stream]
    ours = decide(*read_case(folder / "config.json", folder / "trace.jsonl"))
    for pair in itertools.zip_longest(recorded, ours):
        same(*pair)


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The plain simulator that was checked against 108 recordings of the real scheduler."""
    path = RECORDED / "reference_simulator.py"
    spec = importlib.util.spec_from_file_location("reference_simulator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs_shared
@pytest.mark.parametrize("part", range(6))
def test_random_worlds_under_every_release(reference: ModuleType, part: int) -> None:
    preempted = 0
    for seed in range(part * 50, part * 50 + 50):
        config, lines = world(seed)
        config["max_steps"] = 800
        release = random.Random(seed).choice([NEWEST] * 3 + list(RELEASES))
        like = FULL_NAME.get(release, f"{release}.0")
        theirs = reference.Sim(config, lines, like).run()
        for recorded, ours in itertools.zip_longest(theirs, decide(config, lines, vllm=release)):
            same(json.loads(json.dumps(recorded)), ours)
            preempted += len(recorded.get("preempted", ()))
    assert preempted > 20, "the worlds are too easy"
