"""From the layers that have tensors to a whole model: what was measured, and what follows from it.

Three figures that are never mixed up: seconds as measured; the same for all layers, extrapolated; and these
with all that is not memory's as the simulator predicts it, derived. The last one is missing where matrix
products are carried out: then the second one has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvtui.serving.cost import CostModel
from kvtui.serving.measured import StepMeans
from kvtui.serving.plan import Plan
from kvtui.timing.beside import beside_attention
from kvtui.units import seconds

OF_LAYERS = ("write", "attention", "copy", "swap", "gemm")  # parts of a step that every layer has
Parts = Mapping[str, float]  # seconds of all steps together


class WholeModel:
    """The steps of one lane."""

    def __init__(self, cost: CostModel, *, real: int, layers: int, gemm: bool, predicted_for: str) -> None:
        """`real` of `layers` layers have tensors; `cost` predicts times of the GPU `predicted_for`."""
        self._cost = cost
        self._times = layers / real
        self._gemm = gemm
        self._predicted_for = predicted_for
        self._predicted_ps = 0
        self._steps = 0

    def note(self, plan: Plan) -> None:
        """A step was carried out."""
        self._steps += 1
        if plan.decodes or plan.prefill_tokens:
            self._predicted_ps += beside_attention(
                self._cost, decodes=plan.decodes, prefill=plan.prefill_tokens
            )

    def extrapolated(self, parts: Parts) -> dict[str, float]:
        """Parts of steps in all layers: what every layer does takes so many times as long."""
        return {name: s * self._times if name in OF_LAYERS else s for name, s in parts.items()}

    def means(self, lane: str, parts: Parts) -> StepMeans | None:
        """Of one step; None before the first."""
        if not self._steps:
            return None
        extrapolated = sum(self.extrapolated(parts).values())
        derived = None if self._gemm else extrapolated + seconds(self._predicted_ps)
        return StepMeans(
            lane,
            measured_s=sum(parts.values()) / self._steps,
            all_layers_s=extrapolated / self._steps,
            model_s=None if derived is None else derived / self._steps,
        )

    def derived(self, parts: Parts) -> dict[str, Any] | None:
        """Seconds of the whole model as data."""
        if self._gemm:
            return None
        predicted = seconds(self._predicted_ps)
        return {
            "seconds": round(sum(self.extrapolated(parts).values()) + predicted, 6),
            "predicted_seconds": round(predicted, 6),
            "predicted_for": self._predicted_for,
        }
