"""A live request: made when it arrives, dropped when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

# What a request lists that it has none of, in most runs for good: of a million that wait, a list each would
# take a fifth of a gigabyte. These are replaced by others, never written to.
NONE: Final[list[int]] = []
NO_TABLES: Final[list[list[int]]] = []


class Phase(IntEnum):
    WAITING = 0
    RUNNING = 1
    PREEMPTED = 2  # back in the queue; what it generated will be recomputed like a prompt
    FINISHED = 3
    REJECTED = 4
    ABORTED = 5


MOVES = {
    Phase.WAITING: {Phase.RUNNING, Phase.REJECTED, Phase.ABORTED},
    Phase.RUNNING: {Phase.FINISHED, Phase.PREEMPTED, Phase.ABORTED},
    Phase.PREEMPTED: {Phase.RUNNING, Phase.FINISHED, Phase.ABORTED},  # finished: asynchronous scheduling
    Phase.FINISHED: set(),
    Phase.REJECTED: set(),
    Phase.ABORTED: set(),
}


class Request:
    """State of one request.

    Prefill and decode are not phases: a running request is *chunking* while known tokens are not computed.
    While it chunks, `computed` counts the tokens whose K/V is stored. While it decodes, `computed` stands
    still and `offset` tells: at the start of step s it has `offset + s` tokens stored and knows one more.
    """

    # Of requests with several sequences, see `GroupRequest`.
    width = 1  # sequences that are sampled, or beams
    beams = False  # whether these are beams, which branch and are pruned at every token
    siblings: Sequence[Request] = ()  # all of them, once there are several
    sequence = 0  # which of them this is; 0 also stands for all in queues and results

    __slots__ = (
        "arrival",
        "boundary",
        "cached",
        "checkpoint",
        "chunking",
        "computed",
        "drafts",
        "finish",
        "generated",
        "inflight",
        "keys",
        "lost",
        "lost_at",
        "max_tokens",
        "number",
        "offered",
        "offset",
        "order",
        "output",
        "phase",
        "placeholders",
        "preemptions",
        "prefilling",
        "priority",
        "prompt",
        "rank",
        "registered",
        "reserved",
        "skip_lookup",
        "stale",
        "table",
        "tables",
        "taken",
        "tie",
        "verifies",
        "yields",
    )

    def __init__(
        self,
        number: int,
        prompt: int,
        output: int,
        *,
        arrival: int = 0,
        priority: int = 0,
        keys: list[int] | None = None,
        skip_lookup: bool = False,
    ) -> None:
        self.number = number
        self.prompt = prompt  # tokens
        self.output = output  # tokens it will generate; 0 = prefill only
        self.arrival = arrival  # ps
        self.rank = number  # order of arrival: ranks requests of one priority
        self.tie = number  # ranks requests of one priority and rank
        self.priority = priority  # smaller is more urgent
        self.keys = keys or NONE  # of the leading blocks another request can meet
        self.skip_lookup = skip_lookup  # registers its blocks but does not look for hits
        self.phase = Phase.WAITING
        self.generated = 0  # when it last entered the queue, or at its end
        self.preemptions = 0
        self.order = -1  # admission number while running: the order in the batch
        self.chunking = False
        self.computed = 0
        self.offset = 0
        self.finish = -1  # the step at whose end it finishes, while decoding
        self.table: list[int] = []  # block table: logical to physical
        self.registered = 0  # leading blocks that stand in the cache map under a key
        self.lost = NONE  # private cached blocks of its last life, in logical order
        self.lost_at = 0  # their place in the free queue
        self.max_tokens = output  # what the client asked for: it may end sooner by itself
        # Several block tables only.
        self.tables = NO_TABLES  # one a group; 0 = a block that nobody needs any more
        self.offered = NONE  # of each, leading blocks that were offered to the cache
        self.boundary = 0  # where a longer prefix ended that not all groups held when it was admitted
        self.checkpoint: tuple[int, int] | None = None  # a state saved on the way: (tokens, place)
        # Explicit scheduling only: what is scheduled and not seen yet.
        self.placeholders = 0  # tokens that are being generated
        self.inflight = 0  # tokens that are being computed
        self.stale = 0  # of these, how many were scheduled before a preemption
        self.cached = 0  # tokens whose full blocks can be found by others
        self.prefilling = False  # known tokens were left when it was last scheduled
        self.drafts = 0  # tokens that wait to be verified
        self.yields = 0  # steps that yielded tokens
        self.verifies = 0  # steps that verified drafts
        self.reserved = 0  # slots of its region (contiguous only)
        self.taken = 0  # where its region starts (contiguous only)

    def move(self, phase: Phase) -> None:
        """Change phase; only legal moves."""
        assert phase in MOVES[self.phase], f"request {self.number}: {self.phase.name} -> {phase.name}"
        self.phase = phase

    @property
    def known(self) -> int:
        """Tokens known while it waits or chunks: prompt and what it generated before."""
        return self.prompt + self.generated

    @property
    def all_tables(self) -> list[list[int]]:
        """The block table of every group; of one group, where nobody tells groups apart."""
        return self.tables or [self.table]

    @property
    def blocks_held(self) -> int:
        """Blocks in its tables, shared ones included; of several sequences, those of all."""
        if self.siblings:
            return len({block for sequence in self.siblings for block in sequence.table})
        return sum(b > 0 for t in self.tables for b in t) if self.tables else len(self.table)

    def stored(self, step: int) -> int:
        """Tokens whose K/V is stored at the start of `step`."""
        return self.computed if self.chunking or self.order < 0 else self.offset + step

    def decode_from(self, step: int) -> None:
        """All known tokens are computed: from `step` on one token a step."""
        self.chunking = False
        self.offset = self.computed - step
        self.finish = self.prompt + self.output - 2 - self.offset

    def delay(self) -> None:
        """A decode that got no token in a step: everything happens one step later."""
        self.offset -= 1
        self.finish += 1
