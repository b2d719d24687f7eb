"""How many steps a second the paged lane's engine does, against the real vLLM scheduler.

    KVTUI_VLLM_PYTHON=.../bin/python python -m tests.bench.decisions_speed

1,000 Azure requests, 1,000 blocks of 16 tokens, one step a call and nothing recorded; both sides in one run,
on one trace, and both must take the same number of steps. Times are of the processor. Both sides take turns
and the best time of each counts: other work on the machine can only add. Without vLLM only our side is timed.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from kvtui.decisions.recorded import prepare
from tests.serving.worlds import World
from tests.shared import SHARED
from tests.vllm.real import ORACLE, PYTHON, why_not

TRACE = SHARED / "traces" / "azure2023_conv_rows0000-1499.csv"
BLOCKS, SIZE = 1_000, 16
STEPS_A_SECOND = 40
OURS = 5  # runs in a turn


def azure(requests: int) -> World:
    """The first requests of the trace, a step being 25 ms."""
    with TRACE.open(newline="") as stream:
        rows = list(csv.DictReader(stream))[:requests]
    arrivals = [datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp() for row in rows]
    lines = [
        {
            "id": f"r{i:04d}",
            "arrival_step": int((arrival - arrivals[0]) * STEPS_A_SECOND),
            "prompt_tokens": int(row["ContextTokens"]),
            "output_tokens": int(row["GeneratedTokens"]),
        }
        for i, (row, arrival) in enumerate(zip(rows, arrivals, strict=True))
    ]
    config = {"num_gpu_blocks": BLOCKS + 1, "block_size": SIZE, "max_model_len": BLOCKS * SIZE}
    return config, lines


def ours(world: World) -> tuple[int, float]:
    """Steps and seconds of kvtui's engine."""
    engine, _ = prepare(*world)
    engine.observer = None
    engine.manager.log = None  # type: ignore[attr-defined]
    start = time.thread_time()
    while engine.step():
        pass
    return engine.scheduler.step, time.thread_time() - start


def theirs(world: World) -> dict[str, Any]:
    """Steps and seconds of the real scheduler."""
    config, lines = world
    drive = Path(__file__).with_name("vllm_drive.py")
    done = subprocess.run(
        [PYTHON, str(drive), str(ORACLE)],
        input=json.dumps({"config": config, "lines": lines}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the vLLM side failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.decisions_speed")
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--no-prefix-cache", action="store_true")
    parser.add_argument(
        "--repeat", type=int, default=3, help="turns: a run of vLLM each, and five of ours; the best count"
    )
    chosen = parser.parse_args()
    if not TRACE.is_file():
        print("the reference material is not beside the checkout")
        return 2
    world = azure(chosen.requests)
    world[0]["enable_prefix_caching"] = not chosen.no_prefix_cache
    reason = why_not()
    runs, reals = [], []
    for _ in range(chosen.repeat):
        runs += [ours(world) for _ in range(OURS)]
        reals += [] if reason else [theirs(world)]
    steps, seconds = min(runs)
    print(f"kvtui  {steps} steps, {steps / seconds:,.0f} steps/s")
    if reason:
        print(f"No comparison: {reason}")
        return 0
    if any(real["steps"] != steps for real in reals):
        print(f"vLLM takes {reals[0]['steps']} steps: these are not the same decisions")
        return 1
    kinds = (("loop_seconds", "driven by the oracle"), ("scheduler_seconds", "inside the scheduler alone"))
    for name, what in kinds:
        pace = steps / min(real[name] for real in reals)
        print(f"vLLM   {pace:,.0f} steps/s {what}; kvtui does {steps / seconds / pace:.0f} times as many")
    return 0


if __name__ == "__main__":
    sys.exit(main())
