"""What full steps did with prompts: chunks, and prefixes that were found while they were being computed."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.serving.plan import Plan
from kvtui.serving.request import Request


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
            self.same_step_hits += sum(tokens for _, tokens in same_step_hits(plan, block_size))


def chunks(plan: Plan) -> Iterator[tuple[Request, int, int]]:
    """Requests of which a part of what is known is computed in this step and something is left: first
    token, tokens."""
    for request, start, tokens in plan.prefill:
        if start + tokens < request.known:
            yield request, start, tokens


def same_step_hits(plan: Plan, block_size: int) -> Iterator[tuple[Request, int]]:
    """Admitted requests and the tokens they found in blocks that others fill in this step."""
    hits = {request: hit for request, hit in plan.admitted if hit}
    filled: set[int] = set()
    for request, start, tokens in plan.prefill:
        table = request.all_tables[0]
        if filled and (hit := hits.get(request)):
            found = sum(block in filled for block in table[: hit // block_size])
            if found:
                yield request, found * block_size
        filled.update(table[start // block_size : (start + tokens) // block_size])
