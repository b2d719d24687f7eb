"""How layers share block tables, and how much of its tables a request needs."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Group:
    """Layers that share a block table."""

    window: int | None
    size: int  # tokens per block
    layers: list[str]
    eagle: bool = False  # its hits are proven one block further than they count
    flagged: bool = False  # found to hold the drafter's layers
    extra: int = 0  # tokens kept in front of the window
    cap: int | None = None  # blocks a request can hold at most

    def skipped(self, tokens: int) -> int:
        """Whole blocks that nobody reads any more when `tokens` tokens are computed."""
        if self.window is None:
            return 0
        return max(0, tokens - self.window + 1 - self.extra) // self.size

    @property
    def proof(self) -> int:
        """Blocks in a row that make a hit."""
        assert self.window is not None
        return -(-(self.window - 1) // self.size) + self.eagle


def groups_of(layers: Sequence[str], size: int) -> list[Group]:
    """Layers in groups of one page size each, as vLLM makes them for layouts that are not block-outermost."""
    kinds = []
    for text in layers:
        kind, _, heads = text.partition("*")
        window = int(kind.removeprefix("sliding:")) if kind != "full" else None
        kinds.append((window, int(heads or 1)))
    windows = {window for window, _ in kinds}
    if len(windows) == 1:
        return [Group(windows.pop(), size, list(layers))]
    widest = max(heads for _, heads in kinds)
    buckets: dict[tuple[int | None, int], list[str]] = collections.defaultdict(list)
    for i, (window, heads) in enumerate(kinds):
        stretched = size * (widest // heads) if widest % heads == 0 else size
        buckets[window, stretched].append(f"layer{i}")
    counts = [len(names) for names in buckets.values()]
    each = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    groups = []
    for (window, stretched), names in buckets.items():
        parts = -(-len(names) // each)
        groups += [Group(window, stretched, names[i::parts]) for i in range(parts)]
    return groups
