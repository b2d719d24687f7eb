"""The reference simulator, which lies beside the oracle, as a module."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from tests.shared import SHARED


def reference_simulator() -> ModuleType:
    """A copy of its own for every caller, which may replace parts of it."""
    path = SHARED / "vllm-decisions" / "reference_simulator.py"
    spec = importlib.util.spec_from_file_location("reference_simulator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
