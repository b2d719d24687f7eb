"""What an answer is about: the same keys in each, and the same beginning of its text."""

from __future__ import annotations

from typing import Any

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.poolestimate import pool_report
from kvtui.hardware.measuredpools import told
from kvtui.hardware.names import several


def subject(experiment: Experiment) -> dict[str, Any]:
    """Trace, model and GPU, how the last lane stores KV, and what the size of its pool is worth."""
    return {
        "trace": experiment.trace_name,
        "model": experiment.model.id,
        "gpu": experiment.gpu.id,
        "tensor_parallel": experiment.tp,
        "kv_dtype": experiment.lanes[-1].kv_dtype,
        "pool": pool_report(experiment),
    }


def headline(found: dict[str, Any]) -> str:
    """The same as words."""
    return f"{found['trace']}: {found['model']} on {several(found['tensor_parallel'], found['gpu'])}"


def pool_told(pool: dict[str, Any]) -> list[str]:
    """A line on the pool, where its size is estimated."""
    return [f"KV pool: {told(pool)}"] if pool["error"] else []
