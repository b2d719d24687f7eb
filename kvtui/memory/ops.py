"""The op log: every change of block state as one ordered list, drained once a frame.

It feeds, in order, a real backend (which must replay it), the cells on the screen and the ghost pool. Nobody
listens: nothing is logged, and a manager pays one test a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class OpKind(IntEnum):
    TAKE = 0  # blocks leave the free queue and belong to `owner`
    SHARE = 1  # `owner` holds blocks that exist already (cached or in use)
    DROP = 2  # `owner` gives up blocks that others still hold
    FREE = 3  # nobody holds the blocks any more; their content, if any, is lost
    CACHE = 4  # nobody holds the blocks any more; they keep key and content until evicted
    COPY = 5  # copy-on-write: blocks = (source, target)
    # 6 is no op; recordings know the others by their numbers.
    EVICT = 7  # cached blocks lose key and content because they are handed out again
    OUT = 8  # content goes to host memory: blocks = (block, host block)
    IN = 9  # content comes back: blocks = (host block, block)


class Op(NamedTuple):
    kind: OpKind
    owner: int  # request number; -1 where nobody is meant
    blocks: Sequence[int]  # ids in logical order


class OpLog:
    """An append-only list with one owner and one drain."""

    __slots__ = ("_ops",)

    def __init__(self) -> None:
        self._ops: list[Op] = []

    def add(self, kind: OpKind, owner: int, blocks: Sequence[int]) -> None:
        """Append one op; no blocks, no op."""
        if blocks:
            self._ops.append(Op(kind, owner, blocks))

    def add_one(self, kind: OpKind, owner: int, block: int) -> None:
        """Append one op of one block."""
        self._ops.append(Op(kind, owner, (block,)))

    def drain(self) -> list[Op]:
        """All ops since the last drain, oldest first."""
        ops, self._ops = self._ops, []
        return ops
