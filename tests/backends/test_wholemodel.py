"""What is measured in some layers, and what a whole model would take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kvtui.backends.wholemodel import WholeModel
from kvtui.hardware import catalogue
from kvtui.timing.beside import beside_attention
from kvtui.timing.roofline import LinearCost, RooflineCost

PARTS = {"tables": 1.0, "attention": 3.0, "write": 0.5}
COST = LinearCost(base=10**12, per_prefill=10**10, per_decode=10**11)  # 1 s, 10 ms, 100 ms


def plan(decodes: int = 0, prefill: int = 0) -> Any:
    return SimpleNamespace(decodes=decodes, prefill_tokens=prefill)


def whole(**options: Any) -> WholeModel:
    return WholeModel(COST, **({"real": 2, "layers": 8, "gemm": False, "predicted_for": "A10G"} | options))


def test_what_every_layer_does_takes_so_many_times_as_long() -> None:
    assert whole().extrapolated(PARTS) == {"tables": 1.0, "attention": 12.0, "write": 2.0}
    assert whole().extrapolated({"gemm": 1.0, "vocabulary": 1.0}) == {"gemm": 4.0, "vocabulary": 1.0}


def test_means_are_those_of_a_step() -> None:
    lane = whole()
    assert lane.means("paged", {}) is None
    lane.note(plan(decodes=2))
    lane.note(plan(prefill=20))
    lane.note(plan())  # computes nothing
    means = lane.means("paged", PARTS)
    assert means is not None
    assert (means.lane, means.measured_s, means.all_layers_s) == ("paged", 1.5, 5.0)
    assert means.model_s == pytest.approx((15.0 + 1.2 + 1.2) / 3)
    derived = {"seconds": 17.4, "predicted_seconds": 2.4, "predicted_for": "A10G"}
    assert lane.derived(PARTS) == derived


def test_nothing_is_predicted_beside_products_that_are_carried_out() -> None:
    lane = whole(gemm=True)
    lane.note(plan(decodes=2))
    means = lane.means("paged", PARTS)
    assert means is not None
    assert means.model_s is None
    assert lane.derived(PARTS) is None


def test_what_is_predicted_reads_nothing() -> None:
    """A step less what it reads: the same for any context, and all of a step that has none."""
    cost = RooflineCost.of(catalogue.model("llama-3.1-8b"), catalogue.gpu("h100-sxm"))
    beside = beside_attention(cost, decodes=8, prefill=512)
    read = 8 * 1000 * cost.kv_token + 512 * cost.prompt_token + 512 * 513 // 2 * cost.pair
    assert beside == cost.step(8, 8 * 1000, 512, 512 * 513 // 2) - read
    assert beside_attention(COST, decodes=3, prefill=0) == COST.step(3, 0, 0, 0)
