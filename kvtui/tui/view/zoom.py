"""Looking closer at the memory: from the whole pool in sight down to a block a cell, and where that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kvtui.frames.counts import LaneInfo
from kvtui.tui.view.cells import Codes, Kind, code
from kvtui.tui.view.scale import Scale, slot_bytes


class Zoom(NamedTuple):
    """How close, and the first row that is wanted in sight. `far` counts doublings of a cell from one that
    is a block; None is as far as shows the whole pool."""

    far: int | None = None
    top: int = 0


def levels(whole: Scale, lanes: Sequence[LaneInfo]) -> list[Scale]:
    """Ever smaller cells: from the whole pool in sight, halved each time, down to the smallest block."""

    def block_bytes(lane: LaneInfo) -> int:
        return lane.block_size * (slot_bytes(lane) if whole.slot_bytes else 1)

    smallest = min(lanes, key=block_bytes)
    last = whole._replace(tokens=smallest.block_size, slot_bytes=whole.slot_bytes and slot_bytes(smallest))
    found, scale = [], whole
    while scale.tokens * (scale.slot_bytes or 1) > block_bytes(smallest):
        found.append(scale)
        if scale.tokens % 2:
            break
        scale = scale._replace(tokens=scale.tokens // 2)
    return [*found, last]


def zoomed(zoom: Zoom, whole: Scale, lanes: Sequence[LaneInfo]) -> tuple[Zoom, Scale]:
    """The scale that is wanted, as far as there is one, and the zoom that it really is."""
    steps = levels(whole, lanes)[::-1]
    if zoom.far is None or zoom.far >= len(steps) - 1:
        return Zoom(), whole
    far = max(0, zoom.far)
    scale = steps[far]
    top = max(0, min(zoom.top, rows_of(scale, lanes) - scale.rows))
    return Zoom(far, top), scale._replace(top=top)


def rows_of(scale: Scale, lanes: Sequence[LaneInfo]) -> int:
    """Rows that the largest pool takes."""
    return max(map(scale.rows_of, lanes))


def row_of(scale: Scale, lane: LaneInfo, block: int) -> int:
    """The row of the pool in which a block begins."""
    return int(block * lane.block_size // (scale.slots(lane) * scale.width))


def scrolls(scale: Scale, lanes: Sequence[LaneInfo]) -> bool:
    """Whether some of the memory is out of sight."""
    return rows_of(scale, lanes) > scale.rows


def with_bar(codes: Codes, scale: Scale, lanes: Sequence[LaneInfo]) -> Codes:
    """The cells with a bar behind them that says which part of the pool they are."""
    bar = np.full((scale.rows, 1), code(Kind.TRACK), np.uint16)
    total = rows_of(scale, lanes)
    length = max(1, scale.rows * scale.rows // total)
    start = (scale.rows - length) * scale.top // (total - scale.rows)
    bar[start : start + length] = code(Kind.THUMB)
    return np.hstack([codes, bar])


def top_at(scale: Scale, lanes: Sequence[LaneInfo], y: int) -> int:
    """The first row in sight when the bar is clicked in row `y`."""
    return (rows_of(scale, lanes) - scale.rows) * y // max(1, scale.rows - 1)


def place_words(scale: Scale, lane: LaneInfo) -> str:
    """Which blocks of a lane are in sight."""
    slots = scale.slots(lane) * scale.width
    first = int(scale.top * slots // lane.block_size)
    behind = min(lane.blocks, -int(-(scale.top + scale.rows) * slots // lane.block_size))
    if first >= lane.blocks:
        return f"ends before, with block {lane.blocks - 1:,}"
    return f"blocks {first:,}–{behind - 1:,} of {lane.blocks:,}"
