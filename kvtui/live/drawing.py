"""The KV memory of a real server as cells.

Where blocks lie is not published: what is in use is drawn from the first cell on, and cached content at cells
given here. Only llama.cpp's split slots are where they are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.frame import Cell, Cells
from kvtui.live.reading import Reading, Slot

MOST_CELLS: Final = 1 << 16  # blocks that are told apart; larger pools are drawn in larger ones
SLOT_UNIT: Final = 16  # tokens a cell of a slot stands for
Content = NDArray[np.bool_]  # which blocks hold cached content


class Grid(NamedTuple):
    """How a server's memory is drawn."""

    blocks: int  # 0: nothing is known that could be drawn
    block_size: int
    region: int | None = None  # blocks of a slot


def grid_of(reading: Reading) -> Grid:
    """Of what the server says; no blocks where it does not say how large its memory is."""
    if reading.split_slots and reading.slots:
        size, count = max(slot.size for slot in reading.slots), len(reading.slots)
        unit = SLOT_UNIT
        while size // unit * count > MOST_CELLS:
            unit *= 2
        region = -(-size // unit)
        return Grid(region * count, unit, region)
    pool, size = reading.pool_tokens.value, int(reading.block_size.value or 1)
    if not pool:
        return Grid(0, size)
    while pool // size > MOST_CELLS:
        size *= 2
    return Grid(int(pool) // size, size)


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that the cells depend on. Equal drawings have the very same cells."""

    grid: Grid
    unit: int  # tokens of one of the server's blocks
    slots: tuple[Slot, ...] = ()
    content: bytes | None = None  # a bit for each of its blocks
    used: int = 0  # cells
    cached: int = 0  # cells

    @classmethod
    def of(cls, reading: Reading, grid: Grid, content: Content | None) -> Drawing:
        """Of what the server says now, and of what events told of its cached content."""
        unit = int(reading.block_size.value or grid.block_size)
        if grid.region:
            return cls(grid, unit, slots=reading.slots)
        if content is not None:
            return cls(grid, unit, content=np.packbits(content).tobytes())
        used, cached = reading.usage.value or 0.0, reading.cached.value or 0.0
        if reading.usage.value is None:
            cached = 0.0
        return cls(grid, unit, used=round(used * grid.blocks), cached=round(cached * grid.blocks))


@lru_cache(maxsize=8)
def cells_of(drawing: Drawing) -> Cells:
    """The memory as far as it can be drawn."""
    grid = drawing.grid
    state = np.zeros(grid.blocks, np.uint8)
    owner = np.full(grid.blocks, -1, np.int32)
    stored = np.zeros(grid.blocks, np.int32)
    for slot in drawing.slots:
        _draw_slot(slot, grid, state, owner, stored)
    if drawing.content is not None:
        content = np.unpackbits(np.frombuffer(drawing.content, np.uint8)).astype(np.bool_)
        filled = _merged(content, grid.block_size, drawing.unit)[: grid.blocks]
        state[: len(filled)][filled > 0] = Cell.CACHED
        stored[: len(filled)] = filled
    used, end = drawing.used, drawing.used + drawing.cached
    state[:used], owner[:used] = Cell.HELD, 0
    state[used:end] = Cell.CACHED
    stored[:end] = grid.block_size
    for array in (state, owner, stored):
        array.flags.writeable = False
    return Cells(state, owner, stored, (owner >= 0).astype(np.uint8))


def _merged(content: Content, size: int, unit: int) -> NDArray[np.int32]:
    """Cached tokens in each cell of `size` tokens, several blocks of `unit` where they are drawn as one."""
    blocks = max(size // unit, 1)
    padded = np.pad(content, (0, -len(content) % blocks))
    filled: NDArray[np.int32] = padded.reshape(-1, blocks).sum(axis=1, dtype=np.int32) * np.int32(unit)
    return filled


def _draw_slot(
    slot: Slot, grid: Grid, state: NDArray[Any], owner: NDArray[Any], stored: NDArray[Any]
) -> None:
    """A slot at its place: all of it is held while a request has it, and its last tokens stay for reuse."""
    assert grid.region is not None
    region = slice(slot.number * grid.region, (slot.number + 1) * grid.region)
    filled = np.clip(slot.tokens - grid.block_size * np.arange(grid.region), 0, grid.block_size)
    width = len(state[region])
    stored[region] = filled[:width]
    if slot.busy:
        state[region], owner[region] = Cell.HELD, slot.number
    else:
        state[region] = np.where(filled > 0, Cell.CACHED, Cell.FREE)[:width]
