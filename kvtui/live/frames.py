"""Snapshots as frames of a lane: what a screen or a recording shows of a real server.

A number that is not known is None. Hours of looks are kept: a frame is made when somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from kvtui.frames.counts import Counters, LaneInfo, Percentiles, Split
from kvtui.frames.frame import Frame, RunningRow
from kvtui.live.drawing import Content, Drawing, cells_of, grid_of
from kvtui.live.numbers import Number
from kvtui.live.reading import UNSEEN, Reading, Slot
from kvtui.live.watch import Snapshot

POINTS: Final = 512  # of the batch history, before every second one is dropped
_NOTHING: Final = Percentiles(None, None, None, None, 0)


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
    if reading.kind == UNSEEN:
        return "no answer yet"
    words = [" ".join(filter(None, (reading.kind, reading.version)))]
    if reading.slots:
        words.append(f"{len(reading.slots)} slots")
    elif reading.blocks.value and reading.block_size.value:
        words.append(f"{reading.blocks.value:,.0f} blocks of {reading.block_size.value:,.0f}")
    return ", ".join(words)


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """What a frame is made of, in as few bytes as it takes."""

    step: int
    time_s: float
    counters: Counters
    drawing: Drawing
    slots: tuple[Slot, ...]
    batch: list[tuple[float, int]]  # which grows; of it the first `points`
    points: int

    @property
    def frame(self) -> Frame:
        """The very same one as long as it is asked for: frames are compared by identity."""
        return _framed(self)


@lru_cache(maxsize=16)
def _framed(look: Look) -> Frame:
    return Frame(
        step=look.step,
        time_s=look.time_s,
        done=False,
        counters=look.counters,
        cells=cells_of(look.drawing),
        waiting=(),
        running=tuple(_slot_rows(look.slots)),
        events=(),
        batch=tuple(look.batch[: look.points]),
        mean_filled=0.0,
    )


class Film:
    """Makes the looks at one server, one after the other. `grid` is how its memory is drawn now: another way
    from where it says that it has another size."""

    def __init__(self, first: Snapshot) -> None:
        self.grid = grid_of(first.reading)
        self._step = 0
        self._peak = 0
        self._area = self._time = 0.0  # under the batch size; over which time
        self._last: tuple[float, float] | None = None  # (time, running) of the last frame that knew it
        self._batch: list[tuple[float, int]] = []

    def look(self, snapshot: Snapshot, time_s: float, content: Content | None = None) -> Look:
        """The next one; `content` are blocks with cached content, where events tell."""
        reading = snapshot.reading
        self._step += 1
        self._follow(time_s, None if snapshot.stale_s is not None else reading.running.value)
        grid = grid_of(reading)
        self.grid = grid if grid.blocks else self.grid  # what a page leaves out is as it was
        drawing = Drawing.of(reading, self.grid, content)
        counters = self._counters(snapshot)
        return Look(self._step, time_s, counters, drawing, reading.slots, self._batch, len(self._batch))

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
                self._batch = self._batch[::2]  # a list of its own: former looks have the old one

    def _counters(self, snapshot: Snapshot) -> Counters:
        reading = snapshot.reading
        split = split_of(reading)
        values: dict[str, Any] = dict.fromkeys(Counters._fields)
        values |= {key: _whole(number) for key, number in snapshot.totals.items() if key in values}
        values |= {
            "running": _whole(reading.running),
            "waiting": _whole(reading.waiting),
            "batch_peak": self._peak if self._batch else None,
            "batch_mean": self._area / self._time if self._time else None,
            "output_tokens_per_s": snapshot.rates["output_tokens_per_s"].value,
            "requests_per_s": snapshot.rates["requests_per_s"].value,
            "split": split,
            "split_mean": split,
            **{name: snapshot.latency.get(f"{name}_s", _NOTHING) for name in ("ttft", "tpot", "e2e")},
        }
        return Counters(**values)


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


def _slot_rows(slots: tuple[Slot, ...]) -> list[RunningRow]:
    """Slots with a request. How long an answer will be is not known: what it has is all there is to show."""
    return [
        RunningRow(s.number, s.tokens - s.generated, s.generated, s.generated, s.tokens, s.size)
        for s in slots
        if s.busy
    ]


def _whole(number: Number) -> int | None:
    return None if number.value is None else round(number.value)
