"""What the prefix cache holds for a request."""

from __future__ import annotations

from typing import NamedTuple


class Hits(NamedTuple):
    """What the prefix cache holds for a request: blocks found by key, then some of its own private ones."""

    blocks: list[int]
    private: int

    @property
    def total(self) -> int:
        return len(self.blocks) + self.private


NO_HITS = Hits([], 0)
