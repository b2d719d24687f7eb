"""What a step takes beside reading K/V, as predicted: to be added to memory's part that somebody measured."""

from __future__ import annotations

from dataclasses import replace

from kvtui.serving.cost import CostModel
from kvtui.timing.roofline import RooflineCost


def beside_attention(cost: CostModel, *, decodes: int, prefill: int) -> int:
    """Time in ps of a step of so many tokens that reads nothing: matrix products, host, links.

    Windows of at most 1,024 tokens stay in it, which the model of step times counts as a part of each decode.
    """
    if isinstance(cost, RooflineCost):
        cost = replace(cost, kv_token=0, pair=0, prompt_token=0)
    return cost.step(decodes, 0, prefill, 0)
