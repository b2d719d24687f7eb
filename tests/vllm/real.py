"""The real scheduler of an installed vLLM, asked from here, in a process of its own.

KVTUI_VLLM_PYTHON names an interpreter that can import vllm (default: this one). How to install it, outside of
the project's environment: the docstring of `vllm_oracle.py` in the reference material. For an older release,
unpack its wheel's Python files and name that folder in KVTUI_VLLM_CODE.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.shared import SHARED

PYTHON = os.environ.get("KVTUI_VLLM_PYTHON", sys.executable)
CODE = os.environ.get("KVTUI_VLLM_CODE", "")
ORACLE = SHARED / "vllm-decisions" / "vllm_oracle.py"
MORE_ORACLE = Path(__file__).with_name("oracle_more.py")


def why_not(oracle: Path = ORACLE) -> str | None:
    """Why the real scheduler cannot be asked; None if it can."""
    if not oracle.is_file():
        return "the reference material is not beside the checkout"
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    try:
        found = subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0
    except OSError:
        found = False
    return (
        None if found else f"vllm is not installed for {PYTHON}; KVTUI_VLLM_PYTHON names another interpreter"
    )


Recording = list[dict[str, Any]]


def release_of(version: str) -> str:
    """The release by whose rules a version of vLLM decides."""
    return ".".join(version.split(".")[:2])


class Refused(Exception):
    """vLLM does not accept the configuration."""


class RealScheduler:
    """Records cases; a context manager that ends the process."""

    def __init__(self, oracle: Path = ORACLE) -> None:
        env = os.environ | {"VLLM_LOGGING_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore"}
        if CODE:
            env["PYTHONPATH"] = CODE
        self._process = subprocess.Popen(
            [PYTHON, str(Path(__file__).with_name("recorder.py")), str(oracle)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not os.environ.get("KVTUI_VLLM_NOISE") else None,
            text=True,
            env=env,
        )
        self.version: str = self._read()["vllm"]
        self.seconds = 0.0  # spent in the scheduler by the last case

    def record(self, config: dict[str, Any], lines: list[dict[str, Any]]) -> Recording:
        """The decisions of a case, one object a step."""
        assert self._process.stdin is not None
        print(json.dumps({"config": config, "lines": lines}), file=self._process.stdin, flush=True)
        reply = self._read()
        if "error" in reply:
            raise Refused(reply["error"])
        self.seconds = reply["seconds"]
        decisions: Recording = reply["decisions"]
        return decisions

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the vLLM process ended; KVTUI_VLLM_NOISE=1 shows what it says")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
