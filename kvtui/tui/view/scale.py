"""How wide the block grid is drawn and how much memory one cell stands for: as many bytes in every lane."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from kvtui.frames.counts import LaneInfo
from kvtui.tui.view import formats

_FINE: Final = 32  # parts of a slot in which cells are measured at most, where slots take unlike bytes


class Scale(NamedTuple):
    """A grid of `width` x `rows` cells, of the pool from row `top` on. A cell holds `tokens` slots of
    `slot_bytes` each; of a lane with slots of another size it holds as many bytes."""

    width: int
    rows: int
    tokens: int
    slot_bytes: int = 0  # 0 = not known of some lane: then slots are taken for alike
    top: int = 0

    def slots(self, lane: LaneInfo) -> Fraction:
        """Slots of a lane that a cell stands for."""
        mine = slot_bytes(lane)
        if not (mine and self.slot_bytes):
            return Fraction(self.tokens)
        return Fraction(self.tokens * self.slot_bytes, mine).limit_denominator(_FINE)

    def rows_of(self, lane: LaneInfo) -> int:
        """Rows that the lane's pool takes."""
        return -int(-lane.pool_tokens // (self.slots(lane) * self.width))


def slot_bytes(lane: LaneInfo) -> int:
    """Bytes of a slot of KV memory, 0 where they are not known."""
    return round((lane.pool_bytes or 0) / lane.pool_tokens) if lane.pool_tokens else 0


def scale_for(lanes: Sequence[LaneInfo], *, room: int, rows: int) -> Scale:
    """The scale for a room of `room` x `rows` cells.

    A cell holds a power of two of the baseline's blocks. Where a lane reserves regions, the width is chosen
    so that a region is a whole number of rows, or a whole fraction of a row.
    """
    region_lane = next((lane for lane in lanes if lane.region_blocks), None)
    measure = region_lane or lanes[0]
    known = all(map(slot_bytes, lanes))
    unit = Scale(room, rows, measure.block_size, slot_bytes(measure) if known else 0)
    region = (measure.region_blocks or 0) * measure.block_size
    if not region:
        return _fitting(unit, lanes)
    preferred = [width for width in (64, 32) if width <= room]
    for width in preferred + list(range(room, room // 2, -1)):
        scale = _fitting(unit._replace(width=width), lanes)
        if region % (width * scale.tokens) == 0 or (width * scale.tokens) % region == 0:
            return scale
    return _fitting(unit._replace(width=preferred[-1] if preferred else room), lanes)


def _fitting(scale: Scale, lanes: Sequence[LaneInfo]) -> Scale:
    """The scale with the smallest cell, a power of two of that one, with which all pools fit."""
    while max(map(scale.rows_of, lanes)) > scale.rows:
        scale = scale._replace(tokens=scale.tokens * 2)
    return scale


def cell_words(scale: Scale, lanes: Sequence[LaneInfo]) -> str:
    """How much memory a cell is: `1 cell = 4 blocks = 64 tokens = 8 MiB`; what differs is told by lane."""
    first = lanes[0]
    slots = scale.slots(first)
    size = slot_bytes(first)
    memory = [formats.memory(round(size * slots))] if size else []
    if any(scale.slots(lane) != slots for lane in lanes):
        tokens = ", ".join(f"{float(scale.slots(lane)):,.3g} tokens of {lane.title}" for lane in lanes)
        return f"{' = '.join(['1 cell', *memory])}: {tokens}"
    blocks, rest = divmod(slots, first.block_size)
    whole = [] if rest else [formats.counted(int(blocks), "block")]
    return " = ".join(["1 cell", *whole, f"{float(slots):,.0f} tokens", *memory])
