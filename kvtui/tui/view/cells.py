"""From blocks to cells of the grid: numpy in, one code a cell out. `glyphs` says what a code looks like.

A code packs what is to be seen: `kind << 9 | amount << 5 | who`. `amount` is eighths of the cell that are
stored (1-8) or a number of owners (2-9, 10 for more); `who` is a hue (0-7) or a letter (0-25).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from fractions import Fraction
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Cell, Cells
from kvtui.tui.view.ink import HUES
from kvtui.tui.view.scale import Scale

Codes = NDArray[np.uint16]
Ids = NDArray[np.int32]

_OTHER = 5  # state of a block under the spotlight that others hold, beside those of `Cell`
LETTERS = 26
MANY = 10


class Kind(IntEnum):
    """What one cell shows."""

    VOID = 0  # beyond the pool
    FREE = 1
    HOLE = 2
    CACHED = 3
    NEVER = 4  # held, nothing stored, most of it will never be filled
    LATER = 5  # held, nothing stored yet
    STORED = 6  # tokens; what is left of the cell is free
    PART = 7  # tokens; what is left of the cell is held
    SHARED = 8
    COPIED = 9
    OTHER = 10  # under the spotlight: held by others
    CURSOR = 11
    TRACK = 12  # of the bar behind a grid that shows a part of the pool
    THUMB = 13


def code(kind: Kind, amount: int = 0, who: int = 0) -> int:
    return int(kind) << 9 | amount << 5 | who


def parts(value: int) -> tuple[Kind, int, int]:
    """Kind, amount and who of a code."""
    return Kind(value >> 9), value >> 5 & 15, value & 31


def hues(owner: Ids) -> Ids:
    """Hue of each request, as `ink.hue_of` says."""
    return (owner + owner // HUES) % HUES


def letters(owner: Ids) -> Ids:
    return owner % LETTERS


def spotlight(cells: Cells, request: int, blocks: Sequence[int]) -> Cells:
    """The memory with the blocks of one request in the light: what it shares is drawn as its own, what others
    hold does not tell whose it is."""
    mine = np.zeros(len(cells.state), np.bool_)
    mine[list(blocks)] = True
    held = (cells.state == Cell.HELD) | (cells.state == Cell.NEVER)
    state = np.where(held & ~mine, np.uint8(_OTHER), cells.state)
    return Cells(
        state,
        np.where(mine, np.int32(request), cells.owner),
        np.where(mine, cells.stored, 0).astype(np.int32),
        np.minimum(cells.refs, 1).astype(np.uint8),
    )


def block_at(cells: Cells, scale: Scale, lane: LaneInfo, *, x: int, y: int) -> int | None:
    """The block that a cell of the grid stands for: the first held one where it stands for several; None
    beyond the pool."""
    slots = scale.slots(lane)
    first = ((scale.top + y) * scale.width + x) * slots
    blocks = np.arange(first // lane.block_size, -(-(first + slots) // lane.block_size))
    blocks = blocks[blocks < len(cells.state)]
    if not len(blocks):
        return None
    held = blocks[cells.owner[blocks] >= 0]
    return int(held[0] if len(held) else blocks[0])


def mark(codes: Codes, scale: Scale, lane: LaneInfo, block: int) -> None:
    """Put the cursor on the cell of a block, if it is in sight."""
    y, x = divmod(block * lane.block_size // scale.slots(lane), scale.width)
    if 0 <= y - scale.top < scale.rows:
        codes[y - scale.top, x] = code(Kind.CURSOR)


class _Units(NamedTuple):
    """Blocks cut in units so that a cell is a whole number of them; arrays of cells x units."""

    state: NDArray[np.uint8]
    owner: NDArray[np.int32]
    stored: NDArray[np.int32]
    refs: NDArray[np.uint8]
    copied: NDArray[np.bool_]
    real: NDArray[np.bool_]  # within the pool


class GridModel:
    """The codes of one lane's grid; only cells whose blocks changed are worked out again. A cell holds
    `slots`, which may be no whole number: what is stored is counted in parts of which a cell has one."""

    def __init__(
        self,
        *,
        block_size: int,
        scale: Scale,
        slots: Fraction | None = None,
        identity: Callable[[Ids], Ids] = hues,
    ) -> None:
        self._scale = scale
        self._identity = identity
        cell, self._parts = (slots or Fraction(scale.tokens)).as_integer_ratio()
        block = block_size * self._parts
        self._unit = gcd(block, cell)
        self._pieces = block // self._unit
        self._per_cell = cell // self._unit  # units
        self._first = scale.top * scale.width  # cell in sight
        self._before: tuple[Cells, tuple[int, ...]] | None = None
        self._codes = np.zeros(0, np.uint16)

    def codes(self, cells: Cells, copied: tuple[int, ...] = ()) -> Codes:
        """Codes of the whole grid, `scale.rows` x `scale.width`, memory in reading order."""
        stale = self._stale(cells, copied)
        if len(stale):
            units = self._units(cells, copied, self._first + stale)
            self._codes[stale] = _codes(units, self._unit, self._identity)
        self._before = cells, copied
        size = self._scale.rows * self._scale.width
        grid = np.full(size, code(Kind.VOID), np.uint16)
        grid[: len(self._codes)] = self._codes
        return grid.reshape(self._scale.rows, self._scale.width)

    def _stale(self, cells: Cells, copied: tuple[int, ...]) -> NDArray[np.int64]:
        """Cells in sight with blocks that are not as they were; at first all."""
        if self._before is None or len(self._before[0].state) != len(cells.state):
            every = -(-len(cells.state) * self._pieces // self._per_cell)
            count = max(0, min(every - self._first, self._scale.rows * self._scale.width))
            self._codes = np.zeros(count, np.uint16)
            return np.arange(count)
        then, copied_then = self._before
        seen = self._seen(len(cells.state))
        differ = cells.state[seen] != then.state[seen]
        for now, before in ((cells.owner, then.owner), (cells.stored, then.stored), (cells.refs, then.refs)):
            if now is not before:
                differ |= now[seen] != before[seen]
        blocks = seen.start + np.flatnonzero(differ)
        if copied or copied_then:
            blocks = np.concatenate([blocks, np.array([*copied, *copied_then])])
        units = blocks[:, None] * self._pieces + np.arange(self._pieces)
        cell = (units // self._per_cell).ravel() - self._first
        stale = np.zeros(len(self._codes), np.bool_)
        stale[cell[(cell >= 0) & (cell < len(stale))]] = True
        return np.flatnonzero(stale)

    def _seen(self, blocks: int) -> slice:
        """The blocks in sight."""
        first, behind = self._first, self._first + len(self._codes)
        last = -(-behind * self._per_cell // self._pieces)
        return slice(min(blocks, first * self._per_cell // self._pieces), min(blocks, last))

    def _units(self, cells: Cells, copied: tuple[int, ...], which: NDArray[np.int64]) -> _Units:
        """The blocks of some cells, cut in units."""
        unit = which[:, None] * self._per_cell + np.arange(self._per_cell)
        block = unit // self._pieces if self._pieces > 1 else unit
        real = block < len(cells.state)
        state = cells.state.take(block, mode="clip")
        stored = cells.stored.take(block, mode="clip")
        refs = cells.refs.take(block, mode="clip")
        if self._pieces > 1:  # the slots of a block fill from its first on
            stored = np.clip(stored * self._parts - self._unit * (unit % self._pieces), 0, self._unit)
        elif self._parts > 1:
            stored = stored * self._parts
        if not real.all():
            state, stored, refs = (
                np.where(real, state, Cell.FREE),
                np.where(real, stored, 0),
                np.where(real, refs, 0),
            )
        marked = np.isin(block, copied) & real if copied else np.zeros(block.shape, np.bool_)
        return _Units(state, cells.owner.take(block, mode="clip"), stored, refs, marked, real)


def _codes(units: _Units, unit: int, identity: Callable[[Ids], Ids]) -> NDArray[np.uint16]:
    held = (units.state == Cell.HELD) | (units.state == Cell.NEVER)
    tokens = np.where(held, units.stored, 0)
    stored = tokens.sum(1)
    capacity = units.real.sum(1) * unit
    kept = held.sum(1) * unit  # slots held
    never = (units.state == Cell.NEVER).sum(1) * unit
    empty = kept - stored

    kind = np.full(len(stored), Kind.FREE, np.int64)
    kind[(units.state == Cell.CACHED).any(1)] = Kind.CACHED
    kind[(units.state == Cell.HOLE).any(1)] = Kind.HOLE
    kind[(units.state == _OTHER).any(1)] = Kind.OTHER
    kind[kept > 0] = Kind.LATER
    kind[(kept > 0) & (2 * never > empty)] = Kind.NEVER
    kind[stored > 0] = Kind.STORED
    kind[(stored > 0) & (stored < capacity) & (2 * empty >= capacity - stored)] = Kind.PART
    who = np.where(kept > 0, identity(_main_owner(units, held, tokens)), 0)
    amount = np.where(stored > 0, _eighths(stored, capacity), 0)
    return _minorities(units, kind, amount, who)


def _minorities(units: _Units, kind: NDArray, amount: NDArray, who: NDArray) -> NDArray[np.uint16]:
    """Shared blocks take over a cell of which they are at least half, a copied block any."""
    blocks = units.real.sum(1)
    shared_blocks = (units.refs > 1).sum(1)
    shared = (shared_blocks > 0) & (2 * shared_blocks >= blocks)
    copied = units.copied.any(1)
    for mask, over in ((shared, Kind.SHARED), (copied, Kind.COPIED)):
        kind[mask], amount[mask], who[mask] = over, 0, 0
    counted = shared & ~copied
    amount[counted] = np.minimum(units.refs.max(1), MANY)[counted]
    return (kind << 9 | amount << 5 | who).astype(np.uint16)


def _eighths(stored: NDArray, capacity: NDArray) -> NDArray:
    """Eighths of a cell, at least one if anything is stored, eight only if all of it is."""
    near = np.floor(8 * stored / np.maximum(capacity, 1) + 0.5).astype(np.int64)
    return np.where(stored >= capacity, 8, np.minimum(np.maximum(near, 1), 7))


def _main_owner(units: _Units, held: NDArray[np.bool_], tokens: NDArray) -> Ids:
    """Of each cell the owner with most tokens, or with most slots where nothing is stored; ties: lower id."""
    owner = np.where(held, units.owner, 0)
    cells, per_cell = owner.shape
    if per_cell == 1:
        return owner[:, 0]
    present = np.zeros(int(owner.max(initial=0)) + 1, np.bool_)
    present[owner[held]] = True
    names = np.flatnonzero(present)
    if not len(names):
        return np.zeros(cells, np.int32)
    rank = np.maximum(np.cumsum(present) - 1, 0)  # what is not held weighs nothing
    weight = np.where(np.any(tokens, axis=1)[:, None], tokens, held)
    key = np.arange(cells)[:, None] * len(names) + rank[owner]
    tally = np.bincount(key.ravel(), weight.ravel(), cells * len(names)).reshape(cells, len(names))
    return names[tally.argmax(1)].astype(np.int32)
