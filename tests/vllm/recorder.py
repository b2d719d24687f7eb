"""Runs where vLLM is installed: records cases with the real scheduler, as many as come, in one process.

    python recorder.py ORACLE.py        ORACLE.py: the oracle to drive, whose `Oracle` and `build` are used

Reads one JSON object a line, {"config": ..., "lines": [...]}, and answers each with one line: {"decisions":
[...], "seconds": s}, or {"error": text} where vLLM refuses the configuration. Uses nothing of kvtui.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import sys
import time
from types import ModuleType
from typing import Any


def oracle_from(path: str) -> ModuleType:
    """The oracle as a module, with its model folder made only once."""
    spec = importlib.util.spec_from_file_location("vllm_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["vllm_oracle"] = module
    spec.loader.exec_module(module)
    module.tiny_model_dir = functools.cache(module.tiny_model_dir)
    return module


def answer(oracle: ModuleType, case: dict[str, Any]) -> dict[str, Any]:
    """Decisions of one case."""
    decisions: list[Any] = []
    try:
        run = oracle.Oracle(case["config"], case["lines"])
        start = time.perf_counter()
        run.run(decisions.append)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"decisions": decisions, "seconds": time.perf_counter() - start}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM talks on standard output
    oracle = oracle_from(sys.argv[1])
    import vllm

    print(json.dumps({"vllm": vllm.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(oracle, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
