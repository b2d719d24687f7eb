"""Runs where vLLM is installed: how fast the real scheduler goes through a decision trace, nothing recorded.

    python vllm_drive.py ORACLE.py < CASE.json      CASE: {"config": ..., "lines": [...]}

The oracle drives it: its configuration, its requests, its tokens; only what merely observes is taken out.
Prints a line of JSON: steps, seconds of the whole loop, seconds in schedule() and update_from_output() alone,
all of the processor.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections import Counter
from types import ModuleType
from typing import Any


def load(path: str) -> ModuleType:
    """The oracle as a module."""
    spec = importlib.util.spec_from_file_location("vllm_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Drive:
    """The oracle's loop without its observations."""

    def __init__(self, oracle: ModuleType, case: dict[str, Any]) -> None:
        self.make_request = oracle.make_request
        self.oracle = oracle.Oracle(case["config"], case["lines"])
        self.oracle.emitted = Counter()
        self.sched = self.oracle.sched
        self.coming = list(enumerate(case["lines"]))[::-1]  # next one last
        self.steps = 0
        self.inside = 0.0  # seconds in schedule() and update_from_output()

    def run(self) -> dict[str, Any]:
        """To the end."""
        step = 0
        start = time.thread_time()
        while self.coming or self.sched.running or self.sched.waiting:
            self.arrive(step)
            if self.sched.running or self.sched.waiting:
                self.step()
                step += 1
            else:
                step = self.coming[-1][1]["arrival_step"]
        seconds = time.thread_time() - start
        return {"steps": self.steps, "loop_seconds": seconds, "scheduler_seconds": self.inside}

    def arrive(self, step: int) -> None:
        """Add the requests that are due."""
        while self.coming and self.coming[-1][1]["arrival_step"] <= step:
            at, row = self.coming.pop()
            cfg, hasher = self.oracle.cfg, self.oracle.hasher
            request, self.oracle.outputs[row["id"]] = self.make_request(row, cfg, hasher, row["id"], at)
            if request.num_prompt_tokens < cfg["max_model_len"]:
                self.sched.add_request(request)

    def step(self) -> None:
        """One scheduler step and its answer."""
        start = time.thread_time()
        output = self.sched.schedule()
        scheduled = time.thread_time()
        answer = self.oracle.sample(output)
        sampled = time.thread_time()
        self.sched.update_from_output(output, answer)
        self.inside += scheduled - start + time.thread_time() - sampled
        self.steps += 1


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM talks on standard output
    import vllm

    result = Drive(load(sys.argv[1]), json.load(sys.stdin)).run()
    print(json.dumps({"vllm": vllm.__version__} | result), file=answers, flush=True)


if __name__ == "__main__":
    main()
