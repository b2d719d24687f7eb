"""What an answer is about: the same keys in each, and the same beginning of its text."""

from __future__ import annotations

from typing import Any

from kvtui.comparison.experiment import Experiment
from kvtui.hardware.names import several


def subject(experiment: Experiment) -> dict[str, Any]:
    """Trace, model and GPU, and how the last lane stores KV."""
    return {
        "trace": experiment.trace_name,
        "model": experiment.model.id,
        "gpu": experiment.gpu.id,
        "tensor_parallel": experiment.tp,
        "kv_dtype": experiment.lanes[-1].kv_dtype,
    }


def headline(found: dict[str, Any]) -> str:
    """The same as words."""
    return f"{found['trace']}: {found['model']} on {several(found['tensor_parallel'], found['gpu'])}"
