"""What the prefix cache holds for a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Hits(NamedTuple):
    """What the prefix cache holds for a request: blocks found by key, then some of its own private ones."""

    blocks: list[int]
    private: int
    tokens: int  # that all these stand for
    tables: Sequence[list[int]] = ()  # blocks of each group in place of `blocks`, 0 = not needed
    boundary: int = 0  # where a longer prefix ends that not all groups hold, or 0

    @property
    def total(self) -> int:
        return len(self.blocks) + self.private


NO_HITS = Hits([], 0, 0)
