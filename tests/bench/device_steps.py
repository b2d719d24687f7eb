"""What the host spends on a step that is carried out on tensors, beside writes and attention.

    python -m tests.bench.device_steps [--requests 200] [--context 2000] [--steps 200]

Every request decodes; a table grows by a block every 16th step. The decoder is as small as can be: what is
left is the work of telling a device which tokens to compute and where their K/V is. Median of the steps.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from kvtui.backends.ghost import contents_of
from kvtui.backends.torch_device import Device
from kvtui.backends.torch_lane import TorchLane
from kvtui.backends.torch_pool import Shape
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.traces.workload import Workload

TINY = Shape(heads=1, kv_heads=1, key_dim=8, value_dim=8)
UNIT = 16


class Split:
    """Carries steps out and notes what of their time is the host's: all that is not of layers."""

    def __init__(self, lane: TorchLane) -> None:
        self.lane = lane
        self.all: list[float] = []  # seconds of a step, in which everybody decodes
        self.host: list[float] = []
        self.tables: list[float] = []  # of these, what a lane counts as its own

    def duration(self, engine: Engine, plan: Plan) -> int:
        before, start = dict(self.lane.parts), time.perf_counter()
        self.lane.duration(engine, plan)
        took = time.perf_counter() - start
        parts = {name: s - before.get(name, 0.0) for name, s in self.lane.parts.items()}
        if not plan.prefill and plan.decodes:
            self.all.append(took)
            self.host.append(took - parts["write"] - parts["attention"])
            self.tables.append(parts["tables"])
        return engine.cost.step(plan.decodes, plan.decode_context, plan.prefill_tokens, plan.prefill_pairs)


def workload(requests: int, context: int, steps: int) -> Workload:
    """Everybody at once, with prompts that differ by a few tokens: tables grow in turn."""
    numbers = np.arange(requests)
    return Workload(
        name="decodes",
        format="bench",
        arrival_ns=np.zeros(requests, np.int64),
        prompt=context - numbers % UNIT,
        output=np.full(requests, steps + 2 * requests),
        line=numbers + 1,
    )


def measured(manager: str, requests: int, context: int, steps: int) -> Split:
    most = context + steps + 2 * requests + UNIT
    tried = Experiment(
        workload(requests, context, steps),
        catalogue.model("llama-3.1-8b"),
        catalogue.gpu("a10g"),
        (LaneSpec(manager),),
        slots=requests * (most // UNIT + 1) * UNIT,
        max_len=most,
    )
    engine = tried.build(watched=False)[0].engine
    lane = TorchLane(engine.manager, Device("cpu"), TINY, lambda r: contents_of(r, UNIT), longest=most)
    engine.clock = split = Split(lane)
    lane.device.settle()
    while len(split.host) < steps and engine.step(1):
        pass
    return split


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--context", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    print(f"{options.requests} requests of {options.context:,} tokens, median of {options.steps} steps")
    for manager in ("paged", "contiguous"):
        split = measured(manager, options.requests, options.context, options.steps)
        all_of_it, host, tables = (1000 * statistics.median(x) for x in (split.all, split.host, split.tables))
        print(
            f"{manager:<11} {host:8.2f} ms of the host, {tables:8.2f} of these timed; a step {all_of_it:8.2f}"
        )


if __name__ == "__main__":
    main()
