"""What full steps did with prompts: chunks, and prefixes that were found while they were being computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import eq

from kvtui.serving.plan import Plan
from kvtui.serving.request import Request

Part = tuple[Request, int, int]  # of a prompt: request, first token, tokens


class Tally:
    """Counts over a run."""

    def __init__(self) -> None:
        self.chunks = 0  # parts of prompts after which something of the prompt was left
        self.same_step_hits = 0  # tokens found in blocks that are computed in the very same step

    def count(self, plan: Plan, block_size: int) -> None:
        """Take in one full step, after it was scheduled."""
        if plan.prefill:
            self.chunks += sum([start + n < request.known for request, start, n in plan.prefill])
        if len(plan.prefill) > 1 and plan.admitted:
            self.find(plan.prefill, plan.admitted, block_size)

    def find(self, prefill: Sequence[Part], admitted: Sequence[tuple[Request, int]], block_size: int) -> None:
        """Take in what those `admitted` in a step have found, each so many tokens."""
        found = same_step_hits(prefill, admitted, block_size)
        self.same_step_hits += sum([tokens for _, tokens in found])


def chunks(plan: Plan) -> Iterator[tuple[Request, int, int]]:
    """Requests of which a part of what is known is computed in this step and something is left: first
    token, tokens."""
    for request, start, tokens in plan.prefill:
        if start + tokens < request.known:
            yield request, start, tokens


def same_step_hits(
    prefill: Sequence[Part], admitted: Sequence[tuple[Request, int]], block_size: int
) -> Iterator[tuple[Request, int]]:
    """Requests admitted (and tokens they found) with tokens found in blocks that others fill in this step.
    Such a block has the same place in both tables."""
    hits = {request: hit // block_size for request, hit in admitted if hit}
    filled: list[tuple[list[int], int, int]] = []  # table, first of the blocks, first behind them
    for request, start, tokens in prefill:
        table, found = request.all_tables[0], 0
        if hit := hits.get(request):
            for other, first, end in filled:
                if first < hit:
                    part = slice(first, min(end, hit))
                    found += sum(map(eq, table[part], other[part]))
        if found:
            yield request, found * block_size
        filled.append((table, start // block_size, (start + tokens) // block_size))
