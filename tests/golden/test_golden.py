"""Golden runs: the bundled workloads on every kind of lane leave what they left before.

A difference is a change of behaviour: explain it in the commit that makes the digests again with
`python -m tests.golden.test_golden`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.memory.ops import OpLog
from kvtui.serving.engine import Engine
from kvtui.traces import load
from kvtui.traces.synthetic import bundled, path_of

DIGESTS = Path(__file__).with_name("digests.json")
STEPS = 500
MEASURED = ("time", "running", "stored", "final", "held", "hole", "cached", "free", "peak")
LANES = ("contiguous", "contiguous:pow2,buddy", "paged", "paged:block_size=32,prefix_cache=off")
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "priority": {"policy": "priority"},
    "asynchronous": {"async_scheduling": True},
    "vllm 0.16": {"vllm": "0.16"},
}


def digest(workload: str, lane: str, options: dict[str, Any]) -> str:
    """Of the first 500 steps: every op on memory, every time, and how the run stands."""
    experiment = Experiment(
        load(str(path_of(workload))),
        catalogue.model(DEFAULT_MODEL),
        catalogue.gpu(DEFAULT_GPU),
        (LaneSpec.parse(lane),),
        **options,
    )
    (built,) = experiment.build(watched=False)
    engine: Engine = built.engine
    log = engine.manager.log = OpLog()
    seen = hashlib.sha256()
    for _ in range(STEPS):
        if not engine.step():
            break
        ops = [(int(op.kind), op.owner, list(op.blocks)) for op in log.drain()]
        seen.update(json.dumps([engine.now_ps, len(engine.scheduler.running), ops]).encode())
    totals = engine.meter.totals()
    seen.update(json.dumps({name: totals[name] for name in MEASURED}).encode())
    return seen.hexdigest()[:16]


def cases() -> list[tuple[str, str, str]]:
    every = [(workload, lane, "") for workload in bundled() for lane in LANES]
    return every + [("chat", "paged", option) for option in OPTIONS if option]


@pytest.mark.parametrize(("workload", "lane", "option"), cases())
def test_as_before(workload: str, lane: str, option: str) -> None:
    known = json.loads(DIGESTS.read_text())
    assert digest(workload, lane, OPTIONS[option]) == known[f"{workload} | {lane} | {option}"]


if __name__ == "__main__":
    made = {f"{w} | {lane} | {o}": digest(w, lane, OPTIONS[o]) for w, lane, o in cases()}
    DIGESTS.write_text(json.dumps(made, indent=1) + "\n")
