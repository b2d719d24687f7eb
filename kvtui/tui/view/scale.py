"""How wide the block grid is drawn and how much memory one cell stands for: the same in every lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvtui.frames.frame import LaneInfo


class Scale(NamedTuple):
    """A grid of `width` x `rows` cells of `tokens` slots each."""

    width: int
    rows: int
    tokens: int

    def rows_of(self, lane: LaneInfo) -> int:
        """Rows that the lane's pool takes."""
        return -(-lane.pool_tokens // (self.tokens * self.width))


def scale_for(lanes: Sequence[LaneInfo], *, room: int, rows: int) -> Scale:
    """The scale for a room of `room` x `rows` cells.

    A cell holds a power of two of the baseline's blocks. Where a lane reserves regions, the width is chosen
    so that a region is a whole number of rows, or a whole fraction of a row.
    """
    region_lane = next((lane for lane in lanes if lane.region_blocks), None)
    block = (region_lane or lanes[0]).block_size
    pool = max(lane.pool_tokens for lane in lanes)
    if region_lane is None or region_lane.region_blocks is None:
        return Scale(room, rows, _smallest(pool, block, room, rows))
    region = region_lane.region_blocks * block
    preferred = [width for width in (64, 32) if width <= room]
    for width in preferred + list(range(room, room // 2, -1)):
        tokens = _smallest(pool, block, width, rows)
        if region % (width * tokens) == 0 or (width * tokens) % region == 0:
            return Scale(width, rows, tokens)
    width = preferred[-1] if preferred else room
    return Scale(width, rows, _smallest(pool, block, width, rows))


def _smallest(pool: int, block: int, width: int, rows: int) -> int:
    """Tokens of the smallest cell, a power of two of blocks, with which the pool fits."""
    tokens = block
    while -(-pool // (tokens * width)) > rows:
        tokens *= 2
    return tokens
