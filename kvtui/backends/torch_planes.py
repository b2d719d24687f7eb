"""Layers of a lane by the block table they read through: where their K/V lies, how far they look back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kvtui.backends.batch import Batch
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.protocol import MemoryManager

Windows = Sequence[int | None]
NO_WINDOW: Windows = (None,)


class Plane(NamedTuple):
    """Some layers of the decoder, one behind another, with one table and one window."""

    layers: range
    at: int  # where the first of them lies in the pool
    window: int | None = None

    def place(self, layer: int) -> int:
        """Where a layer lies in the pool."""
        return self.at + layer - self.layers.start


def planes_of(manager: MemoryManager, windows: Windows, each: int) -> tuple[Plane, ...]:
    """`each` layers for every one of `windows`. A manager that tells layers apart has a table for each of
    them, and a block serves one: their layers lie in the same place. With one table they lie side by side."""
    apart = isinstance(manager, GroupedMemoryManager) and manager.tables > 1
    return tuple(
        Plane(range(n * each, (n + 1) * each), 0 if apart else n * each, window)
        for n, window in enumerate(windows)
    )


def seen_by(planes: Sequence[Plane], batch: Batch) -> tuple[Batch, ...]:
    """The batch as each plane sees it: with its own table, or through the only one."""
    if len(batch.views) == len(planes):
        return batch.views
    return tuple(replace(batch, window=plane.window) for plane in planes)
