"""The seam between scheduler and memory: what every manager can be asked and told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from kvtui.memory.hits import Hits
from kvtui.memory.levels import Bought, Levels
from kvtui.memory.ops import OpLog
from kvtui.serving.request import Request

if TYPE_CHECKING:
    from kvtui.memory.states import Checkpoints


class MemoryManager(Protocol):
    """Memory of one lane. Calls that can fail return False and then have had no effect, but that what fell
    out of a window is free by then (where memory is not `steady`)."""

    log: OpLog | None  # every change of state goes there, in order; None = nobody listens
    block_size: int  # slots a block (a unit of a region)
    blocks: int
    prefix_cache: bool
    reserves: bool  # whether it holds slots for tokens to come
    steady: bool  # whether a step of decodes changes nothing but what it takes
    batched: bool  # whether it can `serve` a batch at once, and `advance`
    tables: int  # block tables that a request has
    beside: int  # slots that a running request fills whatever its length: with states
    left: int  # slots of running requests that nobody reads any more, where it is `batched`

    @property
    def checkpoints(self) -> Checkpoints | None:
        """Where states are kept, if the model has some."""
        ...

    @property
    def evictions(self) -> int:
        """Cached blocks that lost their content so far."""
        ...

    @property
    def free_blocks(self) -> int: ...

    @property
    def region_blocks(self) -> int | None:
        """Blocks of a full reservation where all are equal, else None."""
        ...

    @property
    def forgotten(self) -> int:
        """Of the evicted blocks, how many another request could have met."""
        ...

    def can_hold(self, request: Request) -> bool:
        """Whether the request would fit into the empty pool."""
        ...

    def fit(self, request: Request) -> int:
        """How many requests like this one the empty pool holds at their full length."""
        ...

    def need(self, request: Request) -> int:
        """Blocks the request holds at most over its life."""
        ...

    def lookup(self, request: Request) -> Hits:
        """The longest cached prefix. No effect."""
        ...

    def missing_key(self, request: Request, hits: Hits) -> int | None:
        """The key that would lengthen the hit if it were published, or None."""
        ...

    def admit(
        self, request: Request, hits: Hits, tokens: int, *, watermark: int = 0, reserve_full: bool = True
    ) -> bool:
        """Memory for the hit prefix and `tokens` more tokens."""
        ...

    def grow(self, request: Request, upto: int) -> bool:
        """Slots for the tokens [0, upto)."""
        ...

    def register(self, request: Request, upto: int) -> None:
        """Tokens [0, upto) are stored, or will be after this step: others may find them."""
        ...

    def serve(self, step: int, chunks: Sequence[tuple[Request, int]]) -> bool:
        """One step of the whole batch: a token for every decode, and `chunks` of (request, tokens)."""
        ...

    def advance(self, step: int, steps: int, bought: Bought) -> int:
        """Up to `steps` decode-only steps; returns how many the memory sufficed for."""
        ...

    def start(self, request: Request) -> None:
        """The request decodes from now on, one token a step."""
        ...

    def stop(self, request: Request) -> None:
        """The request decodes no longer."""
        ...

    def release(self, request: Request, stored: int, *, again: bool = False) -> None:
        """Give everything back; `stored` tokens are computed. `again`: it was preempted and will return."""
        ...

    def hot_keys(self, at: int) -> set[int]:
        """Keys of block number `at` that decoding requests may publish with their output."""
        ...

    def filled(self, request: Request, tokens: int) -> int:
        """Slots that the first `tokens` tokens of a running request fill."""
        ...

    def levels(self, wanted: Request | None) -> Levels:
        """How the memory stands; `wanted` is the next request in the queue."""
        ...
