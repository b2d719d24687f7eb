"""The time that a drafter takes: forward passes of its own in every step, by the same model of step times."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.serving.cost import CostModel


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
