"""Lanes of real tensors for tests: on the CPU, one thread, attention of a handful of small heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvtui.backends.ghost import Contents, contents_of
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from kvtui.backends.torch_device import Device  # noqa: E402
from kvtui.backends.torch_lane import TorchLane  # noqa: E402
from kvtui.backends.torch_pool import Shape  # noqa: E402

SMALL = Shape(heads=4, kv_heads=2, key_dim=16, value_dim=16)
CPU = Device("cpu")


def on_tensors(
    engine: Engine,
    *,
    shape: Shape = SMALL,
    truth: Callable[[Request], Contents] | None = None,
    **options: Any,
) -> TorchLane:
    """Let every step of the engine be carried out, and everything be verified unless it says otherwise."""
    size = engine.manager.block_size
    options = {"layers": 2, "verify": 1, "longest": engine.rules.max_model_len} | options
    lane = TorchLane(engine.manager, CPU, shape, truth or (lambda r: contents_of(r, size)), **options)
    engine.clock = AsModelled(lane)
    return lane


class AsModelled:
    """Has the steps carried out, but tells the time of the cost model: the decisions are those of a test."""

    def __init__(self, lane: TorchLane) -> None:
        self.lane = lane

    def duration(self, engine: Engine, plan: Plan) -> int:
        assert self.lane.duration(engine, plan) > 0
        return engine.cost.step(plan.decodes, plan.decode_context, plan.prefill_tokens, plan.prefill_pairs)
