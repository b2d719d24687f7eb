"""Runs where vLLM is installed: how fast the real scheduler goes through a decision trace, nothing recorded.

    python vllm_drive.py ORACLE.py < CASE.json      CASE: {"config": ..., "lines": [...]}

Requests are made beforehand, tokens are counted up, and the clock runs only inside schedule() and
update_from_output(): what is compared with an engine that has no model either. Prints one line of JSON.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import sys
import time
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
    """The oracle's loop with everything taken out that only observes."""

    def __init__(self, oracle: ModuleType, case: dict[str, Any]) -> None:
        numbers = itertools.count()
        oracle.tok = lambda name, k: next(numbers)  # no two tokens alike, and none hashed
        self.cfg = oracle.DEFAULTS | case["config"]
        self.sched, hasher = oracle.build(self.cfg)
        self.coming = []
        for i, row in enumerate(case["lines"]):
            request, _ = oracle.make_request(row, self.cfg, hasher, row["id"], i)
            if request.num_prompt_tokens < self.cfg["max_model_len"]:
                self.coming.append((row["arrival_step"], request))
        self.coming.reverse()  # next one last
        self.seconds = 0.0
        self.steps = 0

    def run(self) -> dict[str, Any]:
        """To the end."""
        step = 0
        start = time.perf_counter()
        while self.coming or self.sched.running or self.sched.waiting:
            while self.coming and self.coming[-1][0] <= step:
                self.sched.add_request(self.coming.pop()[1])
            if self.sched.running or self.sched.waiting:
                self.step()
                step += 1
            else:
                step = self.coming[-1][0]
        whole = time.perf_counter() - start
        return {"steps": self.steps, "scheduler_seconds": self.seconds, "loop_seconds": whole}

    def step(self) -> None:
        """One scheduler step and its answer."""
        start = time.perf_counter()
        output = self.sched.schedule()
        self.seconds += time.perf_counter() - start
        answer = self.answer(output)
        start = time.perf_counter()
        self.sched.update_from_output(output, answer)
        self.seconds += time.perf_counter() - start
        self.steps += 1

    def answer(self, output: Any) -> Any:
        """A token for every request whose known tokens are all computed."""
        from vllm.v1.outputs import ModelRunnerOutput

        ids = list(output.num_scheduled_tokens)
        requests = self.sched.requests
        return ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={id: i for i, id in enumerate(ids)},
            sampled_token_ids=[[] if requests[id].is_prefill_chunk else [self.steps] for id in ids],
            logprobs=None,
            prompt_logprobs_dict={},
            pooler_output=[],
        )


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM talks on standard output
    import vllm

    result = Drive(load(sys.argv[1]), json.load(sys.stdin)).run()
    print(json.dumps({"vllm": vllm.__version__} | result), file=answers, flush=True)


if __name__ == "__main__":
    main()
