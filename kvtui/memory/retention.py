"""Which full blocks are worth a place in the prefix cache: of windows and states, where a hit could end."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.memory.group import Group
from kvtui.serving.request import Request


class Retention:
    """`interval` is vLLM's `prefix_cache_retention_interval` in tokens: besides the ends of prompts, hits can
    end at its multiples; 0 = only there, None = anywhere. `refill` tokens at the end are never worth it."""

    def __init__(self, groups: Sequence[Group], align: int, interval: int | None, refill: int) -> None:
        self._alone = len(groups) == 1
        self._further = any(g.further for g in groups)
        self._align = align
        self._interval = interval
        self._refill = refill

    def offered(self, group: Group, tokens: int) -> int:
        """Of the first `tokens` tokens, those whose full blocks are offered to the cache: hits of several
        groups end at common multiples of their block sizes."""
        final = max(0, tokens - self._refill)
        if self._alone:
            return final
        aligned = tokens - tokens % self._align
        if not group.further or not aligned:
            return aligned
        return min(final, final - final % self._align + group.size)

    def kept(self, group: Group, request: Request, first: int, last: int) -> Sequence[int]:
        """Numbers of the full blocks among [first, last) that a later request could use."""
        if group.full:
            return range(first, last)
        segment = (self._align if self._interval is None else self._interval) // group.size
        if segment and group.proof >= segment:
            return range(first, last)
        shift = group.shift
        replays = [] if self._interval is None else self._replays(request)
        ends = [self._block(group, at) + shift for at in replays]
        return [
            n
            for n in range(first, last)
            if any(end - group.proof <= n < end for end in ends)
            or (segment and n >= shift and (n - shift) % segment >= segment - group.proof)
        ]

    def ends_segment(self, group: Group, number: int) -> bool:
        """Whether a full block with a state is kept whatever the prompts are."""
        segment = (self._align if self._interval is None else self._interval) // group.size
        return bool(segment) and (number + 1) % segment == 0

    @property
    def sparse(self) -> bool:
        """Whether nothing is kept but what prompts lead to."""
        return self._interval == 0

    def _block(self, group: Group, token: int) -> int:
        return (token - token % self._align) // group.size

    def _replays(self, request: Request) -> list[int]:
        """Where a request with the same prompt, or a longer one, would go on; and where a longer prefix than
        the hit ended."""
        if self._further:
            found = [max(n // self._align - 1, 0) * self._align for n in (request.prompt - 1, request.prompt)]
        else:
            found = [request.prompt - 1]
        return [*found, request.boundary] if request.boundary else found
