"""From measured steps to a calibrated simulator: the table of a run is one that a profile is fitted to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kvtui.backends.batch import Batch
from kvtui.backends.steptable import StepTable
from kvtui.hardware.names import gpu_named, model_named
from kvtui.serving.plan import Plan
from kvtui.timing.calibration import calibrate
from kvtui.timing.coefficients import engine
from kvtui.timing.roofline import RooflineCost
from kvtui.timing.steptime import check, read

CARD = "NVIDIA H100 80GB SXM"
SIZES = ((1, 512), (8, 512), (32, 1024), (64, 2048), (128, 1024))  # requests, context


def decodes(requests: int, context: int) -> Batch:
    ones = np.ones(requests, np.int64)
    tables = np.zeros((requests, 1), np.int32)
    return Batch((), ones * (context - 1), ones, tables, np.zeros(requests, np.int32), 16)


def test_a_profile_is_fitted_to_measured_steps(tmp_path: Path) -> None:
    """The device is one that a known profile describes: it is found again."""
    model, start = model_named("llama-3.1-8b"), engine("vllm")
    slower = start._replace(base_us=3 * start.base_us, memory=start.memory / 2)
    cost = RooflineCost.of(model, gpu_named(CARD), engine=slower)
    table = StepTable(str(tmp_path / "steps.csv"))
    table.layers, table.whole = model.layers, True
    table.facts = {
        "gpu": CARD,
        "model": model.name,
        "tp": 1,
        "attention": "attention core",
        "dtype": "bf16",
        "engine": "PyTorch 2.13.0",
    }
    for requests, context in SIZES:
        seconds = cost.step(requests, requests * context, 0, 0) / 1e12
        parts = {"attention": 0.3 * seconds, "gemm": 0.7 * seconds}
        table.add("bf16", Plan(0), decodes(requests, context), parts)
    assert table.write() == 2 * len(SIZES)
    rows, left_out = read(str(table.path))
    assert not left_out
    fitted = calibrate(rows, start)
    before, after = (check(rows, profile=p).families()["PyTorch decode"] for p in (start, fitted))
    assert before["n"] == len(SIZES)
    assert before["median_error_pct"] > 20
    assert after["median_error_pct"] < 3


@pytest.mark.parametrize("name", ["Tesla T4", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "NVIDIA L4"])
def test_cards_are_known_as_torch_calls_them(name: str) -> None:
    assert gpu_named(name).memory_bytes
