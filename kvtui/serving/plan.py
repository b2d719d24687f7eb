"""What a step decides, and what it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kvtui.serving.request import Request

NOBODY: Mapping[Request, int] = MappingProxyType({})


class Plan:
    """What one step (or leap of `steps` steps) decided. A leap leaves most of it at the empty default."""

    steps = 1
    prefill: Sequence[tuple[Request, int, int]] = ()  # request, first token, tokens
    admitted: Sequence[tuple[Request, int]] = ()  # request, hit tokens
    preempted: Sequence[tuple[Request, Request, int]] = ()  # victim, served one, blocks
    hungry: Sequence[Request] = ()  # decodes that got no token: the budget was used up
    prefill_tokens = 0  # computed by `prefill`
    prefill_pairs = 0  # (query, key) pairs that these attend to
    decodes = 0  # requests that store one token a step
    decode_context = 0  # tokens these read in the first step, the new ones included
    stored = 0  # tokens stored after the first step, shared ones counted for each
    tokens = 0  # generated, all steps together
    first_tokens: Sequence[Request] = ()  # whose first token it is
    finished: Sequence[Request] = ()  # in batch order
    answered = True  # whether results of the model came in
    # Requests with several sequences.
    # Sequence, whose content it goes on from, and how much of that is stored; all at once.
    forks: Sequence[tuple[Request, Request, int]] = ()
    returned: Sequence[tuple[Request, int]] = ()  # preempted groups that come back, tokens to compute again
    swapped: Sequence[Request] = ()  # of those preempted, whose blocks went to host memory
    swapped_out = 0  # blocks copied to host memory before the step
    swapped_in = 0  # and back from there
    # Speculative decoding. A draft of a request admitted in this step is a placeholder, never accepted.
    drafts: Mapping[Request, int] = NOBODY  # tokens that are verified, part of what `prefill` counts
    rejected: Mapping[Request, int] = NOBODY  # of those verified, taken back from what is computed
    emitted: Mapping[Request, int] = NOBODY  # tokens that came in for a request where not just one

    def __init__(self, step: int) -> None:
        self.step = step

    @classmethod
    def of_leap(cls, step: int, steps: int, decodes: int, context: int) -> Plan:
        """`steps` steps from `step` on in which `decodes` requests decode, the first reading `context`."""
        plan = cls(step)
        plan.steps = steps
        plan.decodes = decodes
        plan.decode_context = context
        plan.tokens = steps * decodes
        return plan

    @property
    def idle(self) -> bool:
        """Whether nothing was computed and nothing changed."""
        return not (self.decodes or self.prefill or self.preempted or self.finished)

    def count_prefill(self, chunks: Iterable[tuple[Request, int, int]]) -> None:
        """Add up tokens and attention pairs of prefill chunks."""
        for _, start, n in chunks:
            self.prefill_tokens += n
            self.prefill_pairs += n * start + n * (n + 1) // 2


@dataclass(slots=True)
class PrefixCounters:
    """Prefix-cache counters as vLLM keeps them, in tokens: re-admissions go by their own names."""

    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def count(self, request: Request, hit: int, times: int = 1) -> None:
        """`times` look-ups of a request that found `hit` tokens."""
        if request.preemptions:
            self.preempted_requests += times
            self.preempted_queries += times * request.known
            self.preempted_hits += times * hit
        else:
            self.requests += times
            self.queries += times * request.known
            self.hits += times * hit
