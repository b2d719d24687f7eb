"""Snapshots as frames of a lane: what a screen or a recording shows of a real server.

A number that is not known is None. Where blocks lie is not published: what is in use is drawn from the first
cell on, and cached content at cells given here. Only llama.cpp's split slots are where they are drawn.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.frame import Cell, Cells, Counters, Frame, LaneInfo, Percentiles, RunningRow, Split
from kvtui.live.numbers import Number
from kvtui.live.reading import Reading, Slot
from kvtui.live.watch import Snapshot

MOST_CELLS: Final = 1 << 16  # blocks that are told apart; larger pools are drawn in larger ones
POINTS: Final = 512  # of the batch history, before every second one is dropped
SLOT_UNIT: Final = 16  # tokens a cell of a slot stands for
_NOTHING: Final = Percentiles(None, None, None, None, 0)
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


def info_of(snapshot: Snapshot, *, title: str) -> LaneInfo:
    """The lane of a server as it was first seen."""
    reading, grid = snapshot.reading, grid_of(snapshot.reading)
    return LaneInfo(
        name=snapshot.name,
        manager="contiguous" if grid.region else "paged",
        title=title,
        subtitle=_subtitle(reading),
        blocks=grid.blocks,
        block_size=grid.block_size,
        region_blocks=grid.region,
        pool_tokens=grid.blocks * grid.block_size,
        pool_bytes=None,
        label="live",
    )


def _subtitle(reading: Reading) -> str:
    words = [" ".join(filter(None, (reading.kind, reading.version)))]
    if reading.slots:
        words.append(f"{len(reading.slots)} slots")
    elif reading.blocks.value and reading.block_size.value:
        words.append(f"{reading.blocks.value:,.0f} blocks of {reading.block_size.value:,.0f}")
    return ", ".join(words)


class Film:
    """Makes the frames of one server, one after the other."""

    def __init__(self, first: Snapshot) -> None:
        self.grid = grid_of(first.reading)
        self._step = 0
        self._peak = 0
        self._area = self._time = 0.0  # under the batch size; over which time
        self._last: tuple[float, float] | None = None  # (time, running) of the last frame that knew it
        self._batch: list[tuple[float, int]] = []
        self._cells: tuple[object, Cells] | None = None

    def frame(self, snapshot: Snapshot, time_s: float, content: Content | None = None) -> Frame:
        """The next one; `content` are blocks with cached content, where events tell."""
        reading = snapshot.reading
        self._step += 1
        self._follow(time_s, None if snapshot.stale_s is not None else reading.running.value)
        return Frame(
            step=self._step,
            time_s=time_s,
            done=False,
            counters=self._counters(snapshot),
            cells=self._drawn(reading, content),
            waiting=(),
            running=tuple(_slot_rows(reading.slots)),
            events=(),
            batch=tuple(self._batch),
            mean_filled=0.0,
        )

    def _follow(self, now: float, running: float | None) -> None:
        """The batch over time; where nobody knows it, it has no mean and no line."""
        if self._last is not None and running is not None:
            passed = now - self._last[0]
            self._area += passed * self._last[1]
            self._time += passed
        self._last = None if running is None else (now, running)
        if running is not None:
            self._peak = max(self._peak, round(running))
            self._batch.append((now, round(running)))
            if len(self._batch) > POINTS:
                self._batch = self._batch[::2]

    def _counters(self, snapshot: Snapshot) -> Counters:
        reading = snapshot.reading
        split = split_of(reading)
        values: dict[str, Any] = dict.fromkeys(field.name for field in fields(Counters))
        values |= {key: _whole(number) for key, number in snapshot.totals.items() if key in values}
        values |= {
            "running": _whole(reading.running),
            "waiting": _whole(reading.waiting),
            "batch_peak": self._peak,
            "batch_mean": self._area / self._time if self._time else None,
            "output_tokens_per_s": snapshot.rates["output_tokens_per_s"].value,
            "requests_per_s": snapshot.rates["requests_per_s"].value,
            "split": split,
            "split_mean": split,
            **{name: snapshot.latency.get(f"{name}_s", _NOTHING) for name in ("ttft", "tpot", "e2e")},
        }
        return Counters(**values)

    def _drawn(self, reading: Reading, content: Content | None) -> Cells:
        """The very same cells as long as they would look the same."""
        key: object = (reading.slots, reading.usage, reading.cached)
        if content is not None:
            key = content.tobytes()
        if self._cells is None or self._cells[0] != key:
            self._cells = key, cells_of(reading, self.grid, content)
        return self._cells[1]


def split_of(reading: Reading) -> Split:
    """Shares of the memory in per cent; None where nobody knows them. Without a cached share, some of what is
    free may be cached."""
    used, cached = reading.usage.value, reading.cached.value
    parts: dict[str, Any] = dict.fromkeys(Split._fields)
    if used is None:
        return Split(**parts)
    pool = sum(slot.size for slot in reading.slots if slot.busy)
    held = sum(slot.tokens for slot in reading.slots if slot.busy)
    empty = (pool - held) / reading.pool_tokens.value if pool and reading.split_slots else 0.0  # type: ignore[operator]
    free = max(1.0 - used - (cached or 0.0) - empty, 0.0)
    parts |= {"stored": 100 * used, "reserved": 100 * empty, "free": 100 * free}
    parts["cached"] = None if cached is None else 100 * cached
    return Split(**parts)


def cells_of(reading: Reading, grid: Grid, content: Content | None) -> Cells:
    """The memory as far as it can be drawn."""
    state = np.zeros(grid.blocks, np.uint8)
    owner = np.full(grid.blocks, -1, np.int32)
    stored = np.zeros(grid.blocks, np.int32)
    if grid.region:
        for slot in reading.slots:
            _draw_slot(slot, grid, state, owner, stored)
    elif content is not None:
        filled = _merged(content, grid.block_size, int(reading.block_size.value or grid.block_size))
        filled = filled[: grid.blocks]
        state[: len(filled)][filled > 0] = Cell.CACHED
        stored[: len(filled)] = filled
    elif reading.usage.value is not None:
        used = round(reading.usage.value * grid.blocks)
        cached = round((reading.cached.value or 0.0) * grid.blocks)
        state[:used], owner[:used] = Cell.HELD, 0
        state[used : used + cached] = Cell.CACHED
        stored[: used + cached] = grid.block_size
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


def _slot_rows(slots: tuple[Slot, ...]) -> list[RunningRow]:
    """Slots with a request. How long an answer will be is not known: what it has is all there is to show."""
    return [
        RunningRow(s.number, s.tokens - s.generated, s.generated, s.generated, s.tokens, s.size)
        for s in slots
        if s.busy
    ]


def _whole(number: Number) -> int | None:
    return None if number.value is None else round(number.value)
