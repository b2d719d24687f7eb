"""KV memory as arrays, one entry a block: what the grid draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.frame import Cell, Cells, Touched
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.group import Group
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.ops import Op, OpKind
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.request import Request

HEIR = -2  # owner of a shared block whose first owner has gone
_MOST_REFS = 255  # that a picture tells apart
_SEEN = (OpKind.TAKE, OpKind.SHARE, OpKind.DROP, OpKind.FREE, OpKind.CACHE)


class CellMirror(Protocol):
    """Follows one manager."""

    def apply(self, ops: Iterable[Op]) -> None:
        """Take in what changed, in order."""
        ...

    def cells(self, running: Iterable[Request], wanted: Request | None, step: int) -> Cells:
        """The memory at the start of `step`; `wanted` is the next request in the queue."""
        ...


class PagedCells:
    """Mirror of a block pool: touched ids only; fill is derived, since only last blocks are partial. Behind
    them can stand blocks for drafts, which hold nothing yet."""

    def __init__(self, manager: PagedMemoryManager | GroupedMemoryManager) -> None:
        self._size = manager.block_size
        self._groups: Sequence[Group] = ()  # where tables differ
        if isinstance(manager, GroupedMemoryManager):
            self._groups = manager.groups
        blocks = manager.blocks
        self._state = np.zeros(blocks, np.uint8)
        self._owner = np.full(blocks, -1, np.int32)
        self._refs = np.zeros(blocks, np.int32)
        self._full = np.zeros(blocks, np.int32)  # slots filled, were there no last blocks
        self._heirs = False  # whether the first owner of a shared block has ever gone
        self._shown = np.zeros(blocks, np.uint8)  # references as far as they can be shown
        self._changed: list[int] = []  # blocks, since the last picture
        self._partial: list[int] = []  # last blocks in the last picture
        self._now = object()

    def apply(self, ops: Iterable[Op]) -> None:
        for kind, owner, blocks in ops:
            if kind not in _SEEN:
                continue
            self._changed += blocks
            if kind is OpKind.TAKE and len(blocks) == 1:  # as most are: no need of arrays
                at = blocks[0] - 1
                self._state[at], self._owner[at], self._refs[at] = Cell.HELD, owner, 1
                self._full[at] = self._size
                continue
            ids = np.asarray(blocks) - 1
            if kind is OpKind.TAKE:
                self._state[ids], self._owner[ids], self._refs[ids] = Cell.HELD, owner, 1
                self._full[ids] = self._size
            elif kind is OpKind.SHARE:
                idle = ids[self._refs[ids] == 0]
                self._state[idle], self._owner[idle] = Cell.HELD, owner
                self._refs[ids] += 1
            elif kind is OpKind.DROP:
                self._refs[ids] -= 1
                self._owner[ids[self._owner[ids] == owner]] = HEIR
                self._heirs = True
            else:
                free = kind is OpKind.FREE
                self._state[ids], self._full[ids] = (Cell.FREE, 0) if free else (Cell.CACHED, self._size)
                self._owner[ids], self._refs[ids] = -1, 0

    def cells(self, running: Iterable[Request], wanted: Request | None, step: int) -> Cells:
        batch = list(running)
        stored = self._full.copy()
        partial, fill = self._last_blocks(batch, step)
        stored[np.array(partial, np.int64) - 1] = fill
        changed = np.unique(np.array(self._changed + self._partial + partial, np.int64)) - 1
        self._shown[changed] = np.minimum(self._refs[changed], _MOST_REFS)
        heirs = self._heirs and bool((self._owner == HEIR).any())
        owner = self._inherited(batch) if heirs else self._owner.copy()
        before, self._now = self._now, object()
        self._changed, self._partial = [], partial
        touched = None if heirs else Touched(before, self._now, changed)
        return _frozen(self._state.copy(), owner, stored, self._shown.copy(), touched)

    def _last_blocks(self, batch: list[Request], step: int) -> tuple[list[int], list[int]]:
        """Blocks that are not full, and the slots filled in each."""
        blocks, fills, size = list[int](), list[int](), self._size
        if not self._groups:  # every request has one table, in which no block is missing
            for request in batch:
                full, fill = divmod(request.stored(step), size)
                for block in request.table[full:]:
                    blocks.append(block)
                    fills.append(fill)
                    fill = 0
            return blocks, fills
        for request in batch:
            for group, table in zip(self._groups, request.all_tables, strict=True):
                for at, tokens in group.partial(table, request.stored(step)):
                    if table[at]:
                        blocks.append(table[at])
                        fills.append(tokens * size // group.size)
        return blocks, fills

    def _inherited(self, batch: list[Request]) -> NDArray[np.int32]:
        """Owners; a shared block whose first one has gone belongs to the oldest that still holds it."""
        owner = self._owner.copy()
        for request in reversed(batch):
            ids = np.array([b for table in request.all_tables for b in table if b], np.int64) - 1
            owner[ids[self._owner[ids] == HEIR]] = request.number
        return owner


class RegionCells:
    """Mirror of contiguous memory: nothing is kept, regions are few."""

    def __init__(self, manager: ContiguousMemoryManager) -> None:
        self._manager = manager

    def apply(self, ops: Iterable[Op]) -> None:
        pass

    def cells(self, running: Iterable[Request], wanted: Request | None, step: int) -> Cells:
        manager = self._manager
        unit, blocks = manager.block_size, manager.blocks
        state = np.zeros(blocks, np.uint8)
        owner = np.full(blocks, -1, np.int32)
        stored = np.zeros(blocks, np.int32)
        for request in running:
            size = request.reserved // unit
            region = slice(request.taken, request.taken + size)
            owner[region] = request.number
            state[region] = Cell.NEVER
            if request.order < 0:
                continue  # it is done, and holds what nobody will fill
            filled = request.stored(step) + manager.beside - unit * np.arange(size)
            stored[region] = np.clip(filled, 0, unit)
            used = min(manager.blocks_for(request.prompt + request.output + manager.beside), size)
            state[request.taken : request.taken + used] = Cell.HELD
        needed = manager.region(wanted) if wanted is not None else manager.region_blocks
        for start, size in manager.placement.extents():
            if needed is not None and size < needed:
                state[start : start + size] = Cell.HOLE
        return _frozen(state, owner, stored, (owner >= 0).astype(np.uint8))


def mirror_of(manager: PagedMemoryManager | GroupedMemoryManager | ContiguousMemoryManager) -> CellMirror:
    """The mirror that understands a manager."""
    return RegionCells(manager) if isinstance(manager, ContiguousMemoryManager) else PagedCells(manager)


def _frozen(
    state: NDArray[np.uint8],
    owner: NDArray[np.int32],
    stored: NDArray[np.int32],
    refs: NDArray[np.uint8],
    touched: Touched | None = None,
) -> Cells:
    for array in (state, owner, stored, refs):
        array.flags.writeable = False
    return Cells(state, owner, stored, refs, touched)
