"""A pool whose size is known, in place of the estimate: for sweeps whose cells have the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import slot_bytes, with_room
from kvtui.comparison.logged import with_logged_pool
from kvtui.errors import ConfigError
from kvtui.hardware.names import model_named
from kvtui.sweep.cell import Cell, experiment_of

SAME = ("model", "gpu", "tp", "utilization", "kv_dtype")  # what the size of a pool follows from


def with_given_pool(
    cells: Sequence[Cell], *, blocks: int | None = None, log: str | None = None
) -> list[Cell]:
    """The cells with so many usable blocks, or what a server's log says that there are.

    Raises ConfigError where no pool could be that of all cells, and for a log that does not say it.
    """
    if blocks is None and log is None:
        return list(cells)
    if blocks is not None and log is not None:
        raise ConfigError("--blocks and --from-log both say how large the pool is", hint="give one of them")
    names = (*SAME, "block_size") if log is None else SAME
    varied = [name for name in names if len({getattr(cell, name) for cell in cells}) > 1]
    if varied:
        raise ConfigError(
            f"a pool that is given has one size, and this sweep varies {', '.join(varied)}",
            hint="one value for each of them, or no --blocks and no --from-log: then pools are estimated",
        )
    if log is not None:
        known = with_logged_pool(experiment_of(cells[0]), log)
        return [replace(cell, slots=known.slots, pool_from=known.pool_from) for cell in cells]
    assert blocks is not None
    slots = _slots(cells[0], blocks)
    return [replace(cell, slots=slots) for cell in cells]


def _slots(cell: Cell, blocks: int) -> int:
    """Slots of 16 bits that take the bytes of so many blocks."""
    model = model_named(cell.model)
    lane = with_room(LaneSpec("paged", block_size=cell.block_size, kv_dtype=cell.kv_dtype), model, tp=cell.tp)
    each, plain = (slot_bytes(model, kind, tp=cell.tp) for kind in (cell.kv_dtype, "auto"))
    return -(-blocks * lane.block_size * each // plain)
