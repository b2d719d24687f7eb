"""What managers over a pool of equal blocks have in common."""

from __future__ import annotations

from kvtui.memory.ops import OpLog
from kvtui.memory.pool import BlockPool
from kvtui.serving.request import Request


class Pooled:
    """Memory of `blocks` equal blocks, any of which serves any request. A subclass says what one needs."""

    pool: BlockPool
    blocks: int
    beside = 0  # states have blocks of their own

    @property
    def log(self) -> OpLog | None:
        """Where every change of state goes; None = nobody listens."""
        return self.pool.log

    @log.setter
    def log(self, log: OpLog | None) -> None:
        self.pool.log = log

    @property
    def free_blocks(self) -> int:
        """Blocks in the free queue, cached ones included."""
        return self.pool.free

    @property
    def evictions(self) -> int:
        """Cached blocks that lost their content so far."""
        return self.pool.evictions

    @property
    def forgotten(self) -> int:
        """Of the evicted blocks, how many another request could have met."""
        return self.pool.forgotten

    def need(self, request: Request) -> int:
        """Blocks the request holds at most over its life: its last token is never stored."""
        raise NotImplementedError

    def fit(self, request: Request) -> int:
        """How many requests like this one the empty pool holds at their full length."""
        return self.blocks // max(self.need(request), 1)

    def can_hold(self, request: Request) -> bool:
        """Whether the request would fit into the empty pool."""
        return self.need(request) <= self.blocks
