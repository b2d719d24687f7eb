"""Requests as they become known: the trace that `kvtui record` writes at this moment."""

from __future__ import annotations

import heapq
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from kvtui.errors import ConfigError
from kvtui.live.poll import now_s
from kvtui.live.traffic.tracefile import BEGAN
from kvtui.traces.formats.native import OPEN

MARGIN_S: Final = 0.25  # within which the recorder has written down that a request has come
RENAMED: Final = 1 << 31  # more than all chain ids of a recording


class Known(NamedTuple):
    """A request with its answer."""

    at_s: float  # by `now_s`
    prompt: int
    output: int
    ids: Sequence[int]  # of leading units
    identified: int  # tokens


class Requests(Protocol):
    """Where requests come from."""

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> int:
        """Tokens that an id stands for."""
        ...

    @property
    def since_s(self) -> float:
        """From when on they are known, by `now_s`."""
        ...

    @property
    def left_out(self) -> int:
        """How many have no known length."""
        ...

    def take(self) -> tuple[list[Known], float]:
        """Those not given before, in order, and the time before which no more are to come."""
        ...


class Tail:
    """A trace that grows. `left_out` counts requests whose length nobody knows."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = now_s) -> None:
        """Raises ConfigError where it is no trace that is being recorded."""
        self.name = path.name
        self.left_out = 0
        self._path = path
        self._clock = clock
        self._to_clock = clock() - time.time()
        self._begun = 0  # recordings in this file, one after the other
        self._open: Counter[float] = Counter()
        self._ended: list[Known] = []  # heap
        self._begin()

    def _begin(self) -> None:
        """From the first line on, which tells when the recording was begun."""
        with self._file() as stream:
            self._head = stream.readline()
            self._at = stream.tell()
        header = _object(self._head) or {}
        began, unit = header.get(BEGAN), header.get("unit")
        if not isinstance(began, int | float) or type(unit) is not int:
            raise ConfigError(
                f"{self._path} does not say when it was recorded: its requests cannot be set beside a server",
                hint="kvtui record --upstream URL -o trace.jsonl writes one that does",
            )
        self.unit = unit
        self.since_s = began + self._to_clock
        self._open.clear()
        self._begun += 1

    def _file(self) -> Any:
        try:
            return self._path.open("rb")
        except OSError as error:
            raise ConfigError(
                f"{self._path} cannot be read: {error.strerror or error}",
                hint="start kvtui record first, in another terminal",
            ) from None

    def take(self) -> tuple[list[Known], float]:
        until_s = self._clock() - MARGIN_S
        for row in self._rows():
            self._note(row)
        until_s = min(until_s, *self._open) if self._open else until_s
        known = []
        while self._ended and self._ended[0].at_s < until_s:
            known.append(heapq.heappop(self._ended))
        return known, until_s

    def _rows(self) -> list[Mapping[str, Any]]:
        """What whole lines were added."""
        with self._file() as stream:
            if stream.readline() != self._head:
                self._begin()  # it was recorded anew, into the same file
            stream.seek(self._at)
            text, _, rest = stream.read().rpartition(b"\n")
            self._at = stream.tell() - len(rest)
        return [row for line in text.split(b"\n") if (row := _object(line)) is not None]

    def _note(self, row: Mapping[str, Any]) -> None:
        came = row.get(OPEN, row.get("at_ms"))
        if not isinstance(came, int | float):
            return
        at_s = self.since_s + came / 1000
        if OPEN in row:
            self._open[at_s] += 1
            return
        self._open -= Counter((at_s,))
        known = self._known(row, at_s)
        if known is None:
            self.left_out += 1
        else:
            heapq.heappush(self._ended, known)

    def _known(self, row: Mapping[str, Any], at_s: float) -> Known | None:
        prompt, output = row.get("prompt"), row.get("output")
        if type(prompt) is not int or type(output) is not int or prompt < 1 or output < 0:
            return None
        first = self._begun * RENAMED  # another recording has other ids
        ids = [first + start + at for start, count in row.get("ids", ()) for at in range(count)]
        return Known(at_s, prompt, output, ids, row.get("identified", min(prompt, len(ids) * self.unit)))


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
