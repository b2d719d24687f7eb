"""The cost model seam: how long a step takes, in integer picoseconds."""

from __future__ import annotations

from typing import Protocol


class CostModel(Protocol):
    """Time of a step from its shape. Pure, and exact: `leap(n, c, k)` equals k calls of `step`.

    The time of a decode-only step must be linear in the context, so that the steps of a leap are an
    arithmetic series: the engine bounds a leap and weighs what it measures by that.
    """

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """Time of one step in ps: `decodes` requests that generate one token each and read `decode_context`
        stored tokens together (the new ones included), and `prefill` prompt tokens that attend to
        `prefill_pairs` (query, key) pairs together."""
        ...

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """Time in ps of `steps` successive decode-only steps with the same `decodes` requests;
        `decode_context` is that of the first step and grows by `decodes` a step."""
        ...
