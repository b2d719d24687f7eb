"""Requests as they become known: the trace that `kvtui record` writes at this moment."""

from __future__ import annotations

import heapq
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from kvtui.errors import ConfigError
from kvtui.live.poll import now_s
from kvtui.live.traffic.tracefile import BEGAN, json_object
from kvtui.traces.formats.native import OPEN, are_runs, is_int

MARGIN_S: Final = 0.25  # within which the recorder has written down that a request has come
WARM_S: Final = 600.0  # of requests before, so that lanes do not begin empty
LOST_S: Final = 600.0  # after which nobody waits for the end of a request: its recorder may have been killed
AWRY_S: Final = 10.0  # and less is no sign that clocks differ
RENAMED: Final = 1 << 31  # more than all chain ids of a recording
FAR: Final = 1e13  # s or ms, and more is no time
HEAD: Final = 1 << 16  # bytes of a first line, at most
LEFT_OUT: Final = (
    "{left_out:,} requests of {name} have no known length or cannot be read: lanes are without them."
)
LOST: Final = "{lost:,} requests of {name} have had no end for {minutes:.0f} min: lanes go on without them."
AWRY: Final = (
    "{name} is {awry:,.0f} s off the clock here: lanes get requests late or never. Start kvtui record anew."
)


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

    def doubts(self) -> Iterator[str]:
        """Sentences on requests that lanes do not get as the server gets them."""
        ...

    def take(self) -> tuple[list[Known], float]:
        """Those not given before, in order, and the time before which no more are to come."""
        ...


class Tail:
    """A trace that grows. Who came long before it was opened is left out."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = now_s) -> None:
        """Raises ConfigError where it is no trace that is being recorded."""
        if path.exists() and not path.is_file():
            raise ConfigError(
                f"{path} is no file: requests are read from one that grows",
                hint="kvtui record -o trace.jsonl",
            )
        self.name = path.name
        self._path = path
        self._clock = clock
        self._to_clock = clock() - time.time()
        self._left_out = self._lost = 0
        self._awry_s = 0.0
        self._looked_s = -math.inf  # when it was last read
        self._begun = 0  # recordings in this file, one after the other
        self._open: Counter[float] = Counter()
        self._ended: list[Known] = []  # heap
        self._begin()
        self.since_s = max(self._zero_s, clock() - WARM_S)

    def _begin(self) -> None:
        """From the first line on, which tells when the recording was begun."""
        with self._file() as stream:
            head, at = stream.readline(HEAD), stream.tell()
        header = json_object(head) or {}
        began, unit = _time(header.get(BEGAN)), header.get("unit")
        if began is None or not is_int(unit, least=1):
            raise ConfigError(
                f"{self._path} does not say when it was recorded: its requests cannot be set beside a server",
                hint="kvtui record --upstream URL does; spans and KV events tell of requests that are over",
            )
        self._head, self._at = head, at
        self.unit: int = unit
        self._zero_s = began + self._to_clock
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

    def doubts(self) -> Iterator[str]:
        if self._awry_s:
            yield AWRY.format(awry=self._awry_s, name=self.name)
        if self._lost:
            yield LOST.format(lost=self._lost, name=self.name, minutes=LOST_S / 60)
        if self._left_out:
            yield LEFT_OUT.format(left_out=self._left_out, name=self.name)

    def _compare(self, at_s: float, now: float, *, end_s: float | None) -> None:
        """Nothing is written before it happens, and ends not long after."""
        awry_s = max(at_s - now, 0.0 if end_s is None else self._looked_s - end_s)
        if awry_s > AWRY_S:
            self._awry_s = max(self._awry_s, awry_s)

    def take(self) -> tuple[list[Known], float]:
        now = self._clock()
        for line in self._lines():
            self._note(json_object(line) or {}, now)
        self._looked_s = now
        awaited = [at_s for at_s in self._open.elements() if at_s >= now - LOST_S]
        self._lost = self._open.total() - len(awaited)
        until_s = min([now - MARGIN_S, *awaited])
        known = []
        while self._ended and self._ended[0].at_s < until_s:
            known.append(heapq.heappop(self._ended))
        return known, until_s

    def _lines(self) -> Iterator[bytes]:
        """Whole lines that were added."""
        with self._file() as stream:
            if stream.readline(HEAD) != self._head:
                self._begin()  # it was recorded anew, into the same file
            end = stream.seek(0, os.SEEK_END)
            self._at = stream.seek(min(self._at, end))  # it may have been cut off
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                self._at += len(line)
                yield line

    def _note(self, row: Mapping[str, Any], now: float) -> None:
        came = _time(row.get(OPEN, row.get("at_ms")))
        at_s = now if came is None else self._zero_s + came / 1000
        took = _time(row.get("e2e_ms"))
        self._compare(at_s, now, end_s=None if took is None else at_s + took / 1000)
        if at_s < self.since_s:
            return
        if OPEN in row and came is not None:
            self._open[at_s] += 1
            return
        self._open[at_s] -= 1
        if self._open[at_s] <= 0:
            del self._open[at_s]
        known = None if came is None else self._known(row, at_s)
        if known is None:
            self._left_out += 1
        else:
            heapq.heappush(self._ended, known)

    def _known(self, row: Mapping[str, Any], at_s: float) -> Known | None:
        prompt, output, runs = row.get("prompt"), row.get("output"), row.get("ids", [])
        if not (is_int(prompt, least=1) and is_int(output, least=0) and are_runs(runs)):
            return None
        reach = sum(count for _, count in runs) * self.unit
        identified = row.get("identified", min(prompt, reach))
        most = min(reach, prompt + output)
        if not (is_int(identified, least=0) and reach - self.unit < identified <= most):
            return None
        first = self._begun * RENAMED  # another recording has other ids
        ids = [first + start + at for start, count in runs for at in range(count)]
        return Known(at_s, prompt, output, ids, identified)


def _time(value: object) -> float | None:
    known = isinstance(value, int | float) and abs(value) < FAR and not isinstance(value, bool)
    return float(value) if known else None  # type: ignore[arg-type]
