"""The paged lane takes the decisions of the real vLLM scheduler, block ids and free-queue order included."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from typing import Any

import pytest

from kvtui.decisions.recorded import decide, read_case
from kvtui.serving.rules import NEWEST, RELEASES
from tests.serving.worlds import world
from tests.shared import SHARED, needs_shared
from tests.vllm.simulator import simulated, within_reach

RECORDED = SHARED / "vllm-decisions"
CASES = sorted(p.parent.name for p in RECORDED.glob("*/decisions.jsonl.gz"))


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
    ours = decide(*read_case(folder / "config.json", folder / "trace.jsonl"), vllm="0.32")
    for pair in itertools.zip_longest(recorded, ours):
        same(*pair)


@needs_shared
@pytest.mark.parametrize("part", range(6))
def test_random_worlds_under_every_release(part: int) -> None:
    """Against plain simulators, which were checked against the real schedulers of these releases."""
    preempted = 0
    for seed in range(part * 50, part * 50 + 50):
        release = random.Random(seed).choice([NEWEST] * 3 + list(RELEASES))
        made = within_reach(world(seed), release)
        made[0]["max_steps"] = 800
        theirs = simulated(made, release)
        for recorded, ours in itertools.zip_longest(theirs, decide(*made, vllm=release)):
            same(json.loads(json.dumps(recorded)), ours)
            preempted += len(recorded.get("preempted", ()))
    assert preempted > 20, "the worlds are too easy"


@needs_shared
def test_a_request_refused_for_budget_is_served_once_its_hit_has_grown() -> None:
    config = {"num_gpu_blocks": 200, "block_size": 2, "max_num_seqs": 16, "enable_chunked_prefill": False}
    config |= {"max_num_batched_tokens": 24, "max_model_len": 24}
    lines: list[dict[str, Any]] = [
        {"id": f"d{i}", "arrival_step": 0, "prompt_tokens": 4, "output_tokens": 15} for i in range(9)
    ]
    quoted = [["req:d0", 4], ["out:d0", 12], ["own", 6]]
    lines.append({"id": "q", "arrival_step": 3, "prompt_segments": quoted, "output_tokens": 1})
    theirs = list(simulated((config, lines), NEWEST))
    assert theirs[3]["waiting"] == ["q"]
    assert theirs[4]["hit"] == {"q": 8}
    for recorded, ours in itertools.zip_longest(theirs, decide(config, lines)):
        same(json.loads(json.dumps(recorded)), ours)
