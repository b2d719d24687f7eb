"""The cached content of one server from its event stream: whole, or marked as not whole.

Where batches are missing that nobody can give again, the map is `stale` until everything was cleared or the
server has started anew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kvtui.live.kvevents import Batch, Cleared, ContentMap


class Content:
    """Takes batches in their order."""

    def __init__(self, blocks: int) -> None:
        self.map = ContentMap(blocks)
        self.stale = True  # until the first batch turns out to be number 0, or everything is cleared

    def taken(self) -> NDArray[np.bool_]:
        """Cells that hold cached content."""
        return self.map.taken()

    def take(self, number: int, batch: Batch) -> None:
        self.map.apply(batch.changes)
        if number == 0 or any(isinstance(change, Cleared) for change in batch.changes):
            self.stale = False

    def gap(self) -> None:
        self.stale = True

    def anew(self) -> None:
        self.map.clear()
        self.stale = True
