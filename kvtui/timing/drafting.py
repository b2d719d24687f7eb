"""The time that a drafter takes: forward passes of its own in every step, by the same model of step times."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.hardware.kvtypes import element_bytes
from kvtui.serving.cost import CostModel
from kvtui.timing.coefficients import EngineProfile
from kvtui.timing.roofline import RooflineCost

_INSIDE = 1e-6  # us: host times that a step has once, whoever computes in it


@dataclass(frozen=True, slots=True)
class DraftingCost:
    """Steps of `target` in which `drafter` proposes `passes` tokens for every request.

    Its first pass computes what the target computes, as it has to store K and V of all tokens; each further
    one takes a token a request. vLLM runs them one after the other, in steps with prompts too.
    """

    target: CostModel
    drafter: CostModel
    passes: int

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """See `CostModel.step`."""
        first = self.drafter.step(decodes, decode_context, prefill, prefill_pairs)
        further = self.drafter.leap(decodes, decode_context + decodes, self.passes - 1)
        return self.target.step(decodes, decode_context, prefill, prefill_pairs) + first + further

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """See `CostModel.leap`: each step is longer than the one before by the same time."""
        first, second = (
            self.drafter.leap(decodes, decode_context + i * decodes, self.passes) for i in range(2)
        )
        drafting = steps * first + (second - first) * (steps * (steps - 1) // 2)
        return self.target.leap(decodes, decode_context, steps) + drafting


def step_cost(
    model: ModelSpec,
    gpu: GpuSpec,
    kv_dtype: str,
    *,
    tp: int,
    engine: EngineProfile,
    drafter: ModelSpec | None = None,
    passes: int = 0,
) -> CostModel:
    """Steps of a model on `tp` GPUs with K and V stored as `kv_dtype`, with so many passes of a drafter."""

    def cost(model: ModelSpec, engine: EngineProfile) -> RooflineCost:
        each = element_bytes(model, kv_dtype, tp=tp)
        return RooflineCost.of(model, gpu, tp=tp, kv_dtype_bytes=each, engine=engine)

    if drafter is None:
        return cost(model, engine)
    inside = replace(engine, base_us=_INSIDE, sequence_us=_INSIDE)
    return DraftingCost(cost(model, engine), cost(drafter, inside), passes)
