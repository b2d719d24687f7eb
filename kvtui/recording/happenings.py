"""What a chronicle gained in a step, as bytes, and the chronicle that comes out of them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kvtui.frames.chronicle import KINDS, Chronicle
from kvtui.frames.frame import EventKind
from kvtui.recording.packing import Planes, Shape, decode, encode

_COLUMNS: Final = 6
_SHAPES: Final = {name: Shape(np.int64) for name in ("events", "ops", "steps", "keys")}
_KIND, _PASSED = 2, -1  # column of the kind, and the number of one that is not known here
_ADMITTED: Final = KINDS.index(EventKind.ADMITTED)
_NOTHING: Final[Planes] = {name: np.zeros(0, np.int64) for name in _SHAPES}


class Gains:
    """Follows a chronicle that is being written."""

    def __init__(self) -> None:
        self._events = self._ops = self._steps = 0
        self._keyed: set[int] = set()  # requests whose keys are told

    def take(self, chronicle: Chronicle) -> bytes:
        """What is new since the last call."""
        events, ops = chronicle.events.since(self._events), chronicle.ops.since(self._ops)
        steps = chronicle.steps.since(self._steps)
        self._events, self._ops = chronicle.events.total, chronicle.ops.total
        self._steps = chronicle.steps.total
        if not len(events) and not len(ops) and not len(steps):
            return b""
        keys = list(self._keys(events, chronicle))
        tables = {"events": _flat(events), "ops": _flat(ops), "steps": _flat(steps)}
        planes = {**tables, "keys": np.array(keys, np.int64)}
        return encode(_NOTHING, planes, _SHAPES)

    def _keys(self, events: NDArray[np.int64], chronicle: Chronicle) -> Iterator[int]:
        """Of every request that is admitted for the first time: number, count and keys."""
        for request in events[events[:, _KIND] == _ADMITTED, 3].tolist():
            if request not in self._keyed and (keys := chronicle.keys(request)):
                self._keyed.add(request)
                yield from (request, len(keys), *keys)


class Told:
    """Builds a chronicle from the gains of its steps, in order; `kinds` are those that their numbers stand
    for, None = passed over."""

    def __init__(self, kinds: Sequence[EventKind | None] = KINDS) -> None:
        self._numbers = np.array([_PASSED if kind is None else KINDS.index(kind) for kind in kinds], np.int64)
        self._keys: dict[int, Sequence[int]] = {}
        self.chronicle = Chronicle(lambda request: self._keys.get(request, ()))
        self.chronicle.keep_all()  # a file has an end

    def add(self, gains: bytes) -> None:
        """The gains of the next step."""
        if not gains:
            return
        planes = decode(_NOTHING, gains, _SHAPES)
        self.chronicle.events.extend(self._events(planes["events"].reshape(_COLUMNS, -1).T))
        self.chronicle.ops.extend(planes["ops"].reshape(_COLUMNS, -1).T)
        self.chronicle.steps.extend(planes["steps"].reshape(_COLUMNS, -1).T)
        keys, at = planes["keys"].tolist(), 0
        while at < len(keys):
            request, count = keys[at : at + 2]
            self._keys[request] = keys[at + 2 : at + 2 + count]
            at += 2 + count

    def _events(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of known kinds, with the numbers that these have here."""
        rows = rows.copy()
        rows[:, _KIND] = self._numbers[rows[:, _KIND]]
        known: NDArray[np.int64] = rows[rows[:, _KIND] != _PASSED]
        return known


def _flat(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Column by column: equal numbers side by side."""
    return rows.T.reshape(-1)
