"""A frame as named arrays of one dimension, and back: nothing is lost, times are kept to the picosecond."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import isnan
from operator import attrgetter
from typing import Any, Final, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.chronicle import KINDS
from kvtui.frames.counts import Counters, Percentiles, Split
from kvtui.frames.frame import Cells, Event, EventKind, Frame, RunningRow, WaitingRow
from kvtui.frames.rows import Rows, WaitingAt
from kvtui.recording.packing import NOWHERE, Places, Plane, Planes, Shape
from kvtui.units import picoseconds, seconds

T = TypeVar("T")
_WAITING, _RUNNING, _EVENT = 4, 6, 5  # numbers a row
SHAPES: Final[dict[str, Shape]] = {
    "state": Shape(np.uint8),
    "owner": Shape(np.int32),
    "stored": Shape(np.int32),
    "refs": Shape(np.uint8),
    "counters": Shape(np.float64),
    "last": Shape(np.float64),  # mean_filled, and the last point of the batch history
    "history": Shape(np.float64),  # the points before it, time and value in turn
    "copied": Shape(np.int32),
    "waiting": Shape(np.int64, _WAITING, 1),
    "running": Shape(np.int64, _RUNNING, 1),
    "events": Shape(np.int64, _EVENT, _EVENT),  # oldest first
    "times": Shape(np.float64, 1, 1),  # of the events
}
_COUNTERS: Final[dict[str, Any]] = get_type_hints(Counters)
_PARTS: Final = (Split, Percentiles)
_values: Final = attrgetter(*_COUNTERS)


def counter_names() -> list[str]:
    """Names of all numbers of the counters, in the order of their plane."""
    return list(chain.from_iterable(_names(*counter) for counter in _COUNTERS.items()))


def _names(name: str, kind: Any) -> list[str]:
    return [f"{name}.{each}" for each in kind._fields] if kind in _PARTS else [name]


class Writer:
    """Turns successive frames of a lane into planes; what stays as it was is the very same array."""

    def __init__(self) -> None:
        self._frame: Frame | None = None
        self.places: Mapping[str, Places] = NOWHERE  # where the last planes can differ from those before
        self._planes: dict[str, Plane] = dict.fromkeys(("history", "times"), _floats(()))
        self._planes["events"] = _rows(())

    def planes(self, frame: Frame, now_ps: int) -> dict[str, Plane]:
        """All planes of a frame; `now_ps` is its time."""
        before, known, cells = self._frame, self._planes, frame.cells
        planes: dict[str, Plane] = {
            "state": cells.state,
            "owner": cells.owner,
            "stored": cells.stored,
            "refs": cells.refs,
            "counters": np.array(_numbers(frame.counters), np.float64),  # unknown is no number
            "last": _floats([frame.mean_filled, *frame.batch[-1]] if frame.batch else [frame.mean_filled]),
            "copied": np.array(frame.copied, np.int32),
            "waiting": _waiting_plane(frame.waiting, now_ps),
            "running": _running_plane(frame.running),
        }
        old, points = _added(before.batch[:-1] if before else (), frame.batch[:-1])
        planes["history"] = _joined(known["history"], old, _floats(chain.from_iterable(points)), width=2)
        old, events = _added(before.events[::-1] if before else (), frame.events[::-1])
        told = _rows((e.step, KINDS.index(e.kind), e.request, e.a, e.b) for e in events)
        planes["events"] = _joined(known["events"], old, told, width=_EVENT)
        planes["times"] = _joined(known["times"], old, _floats(e.time_s for e in events))
        self.places = _places(before, frame)
        self._frame, self._planes = frame, planes
        return planes


def _places(before: Frame | None, now: Frame) -> Mapping[str, Places]:
    known = before.cells.touched if before is not None else None
    touched = now.cells.touched
    if known is None or touched is None or touched.since is not known.now:
        return NOWHERE
    return dict.fromkeys(("state", "owner", "stored", "refs"), touched.blocks)


def _added(before: tuple[T, ...], now: tuple[T, ...]) -> tuple[slice, tuple[T, ...]]:
    """Which of `before` stand at the beginning of `now`, and what comes behind them. The first ones may
    have gone, never others."""
    if before and now and now[0] in before:
        first = before.index(now[0])
        if before[first:] == now[: len(before) - first]:
            return slice(first, len(before)), now[len(before) - first :]
    return slice(0, 0), now


def _joined(plane: Plane, old: slice, new: Plane, *, width: int = 1) -> Plane:
    kept = plane[width * old.start : width * old.stop]
    return plane if len(kept) == len(plane) and not len(new) else np.concatenate([kept, new])


@dataclass(frozen=True)
class Place:
    """What stands outside the planes."""

    step: int
    now_ps: int
    done: bool


@dataclass(frozen=True)
class Code:
    """What numbers of a file stand for: those of the counters, and the kinds of events."""

    counters: Sequence[str]
    kinds: Sequence[EventKind | None]  # None = one that is not known here, and passed over


def frame_of(planes: Planes, place: Place, code: Code, *, rows: int, events: int) -> Frame:
    """The frame, its lists cut."""
    counters = dict(zip(code.counters, planes["counters"].tolist(), strict=True))
    filled, *point = planes["last"].tolist()
    history = planes["history"].tolist()
    batch = [(time, int(value)) for time, value in zip(history[::2], history[1::2], strict=True)]
    if point:
        batch.append((point[0], int(point[1])))
    newest = _events(_table(planes["events"], _EVENT)[::-1], planes["times"][::-1], code.kinds)
    return Frame(
        step=place.step,
        time_s=seconds(place.now_ps),
        done=place.done,
        counters=_counters(counters),
        cells=Cells(planes["state"], planes["owner"], planes["stored"], planes["refs"]),
        waiting=Rows(_table(planes["waiting"], _WAITING)[:rows], WaitingAt(place.now_ps)),
        running=Rows(_table(planes["running"], _RUNNING)[:rows], RunningRow._make),
        events=tuple(islice(newest, events)),
        batch=tuple(batch),
        mean_filled=filled,
        copied=tuple(planes["copied"].tolist()),
    )


def _waiting_plane(rows: Sequence[WaitingRow], now_ps: int) -> Plane:
    if isinstance(rows, Rows):
        return rows.numbers.reshape(-1)
    return _rows((r.request, r.tokens, now_ps - picoseconds(r.waited_s), r.preempted) for r in rows)


def _running_plane(rows: Sequence[RunningRow]) -> Plane:
    return rows.numbers.reshape(-1) if isinstance(rows, Rows) else _rows(rows)


def _floats(values: Iterable[float]) -> Plane:
    return np.array([*values], np.float64)


def _rows(rows: Iterable[tuple[Any, ...]]) -> Plane:
    return np.array([*chain.from_iterable(rows)], np.int64)


def _table(plane: Plane, width: int) -> NDArray[np.int64]:
    table: NDArray[np.int64] = plane.reshape(-1, width)
    return table


def _numbers(counters: Counters) -> list[float | None]:
    numbers: list[float | None] = []
    for value in _values(counters):
        if isinstance(value, tuple):
            numbers += value
        else:
            numbers.append(value)
    return numbers


def _counters(known: dict[str, float]) -> Counters:
    """Counters from their numbers; what a recording does not tell is None."""
    values: dict[str, Any] = {}
    for name, kind in _COUNTERS.items():
        if kind in _PARTS:
            values[name] = kind(
                *(_number(known, f"{name}.{part}", whole=part == "n") for part in kind._fields)
            )
        else:
            values[name] = _number(known, name, whole=kind is not float)
    return Counters(**values)


def _number(known: dict[str, float], name: str, *, whole: bool) -> float | int | None:
    value = known.get(name, float("nan"))
    if isnan(value):
        return None
    return int(value) if whole else value


def _events(rows: NDArray[np.int64], times: Plane, kinds: Sequence[EventKind | None]) -> Iterable[Event]:
    for (step, number, request, a, b), time_s in zip(rows.tolist(), times.tolist(), strict=True):
        if (kind := kinds[number]) is not None:
            yield Event(time_s, step, kind, request, a, b)
