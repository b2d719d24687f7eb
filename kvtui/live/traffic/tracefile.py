"""The trace that is being recorded: kvtui's own workload format, a line a request.

Every line is handed to the operating system by one call as soon as its request is over, so a recorder that is
killed leaves whole lines behind. They stand in the order in which requests ended; `at_ms` is their arrival.
Before it stands a line with `open_ms`, the same time, written when the request came: who reads the file as it
grows knows of whom more is to come. `began_unix_s` in the header is the time of day of time 0.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kvtui.errors import ConfigError, FileIsThere
from kvtui.live.traffic.answers import Usage
from kvtui.live.traffic.identity import UNIT, runs
from kvtui.traces.formats.native import HEARD, OPEN

BEGAN: Final = "began_unix_s"
OTHERS: Final = (
    ".csv",
    ".tsv",
    ".parquet",
    ".gz",
    ".bz2",
    ".xz",
    ".zst",
    ".zip",
)  # endings of what it is not


@dataclass
class Exchange:
    """One request and its answer. Times in seconds from the start of the recording."""

    at_s: float
    ids: list[int]
    session: str | None = None
    model: str | None = None
    status: int | None = None  # None: nobody answered
    usage: Usage | None = None
    chunks: int = 0
    first_s: float | None = None
    end_s: float | None = None
    aborted: bool = False  # by the client, or broken off by the server


class TraceFile:
    """Written to as the traffic goes by. A disk that is full ends the recording, not the traffic: `problem`
    then says why."""

    def __init__(self, path: Path, *, about: str, force: bool = False) -> None:
        """Open it; with `force` what an older file holds stays until `begin`.

        Raises:
            ConfigError: it exists (without `force`), cannot be written, or is named like what it is not.
        """
        if path.suffix.lower() in OTHERS:
            raise ConfigError(
                f"{path}: a recorded trace is JSON Lines, not what {path.suffix} says",
                hint=f"name it {path.with_suffix('.jsonl').name}",
            )
        self.problem: str | None = None
        self.rows = 0
        self.new = not path.exists()
        self._header = {"kvtui_workload": 1, "name": path.stem, "about": about, "unit": UNIT}
        self._begun = False
        try:
            self._file = FileIO(path, "a" if force else "x")
        except FileExistsError:
            raise FileIsThere(path, by_force=True) from None
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None

    def begin(self, facts: Mapping[str, Any] = MappingProxyType({})) -> None:
        """The recording has begun: an older one is gone from here on. Once; the first request does it too.
        `facts` are for the header."""
        if self._begun:
            return
        self._begun = True
        if os.fstat(self._file.fileno()).st_size:
            self._file.truncate(0)
        self._write(self._header | dict(facts))

    def open(self, exchange: Exchange) -> None:
        """A request has come; `add` follows when it is over."""
        self.begin()
        self._write({OPEN: _milliseconds(exchange.at_s)})

    def add(self, exchange: Exchange) -> None:
        self.add_row(row_of(exchange))

    def add_row(self, row: Mapping[str, Any]) -> None:
        """A line of a request."""
        self.begin()
        self._write(row)
        self.rows += 1

    def heard(self, counts: Mapping[str, int]) -> None:
        """A line that says of how much the requests were derived."""
        self._write({HEARD: counts})

    def close(self) -> None:
        self._file.close()

    def _write(self, value: Mapping[str, Any]) -> None:
        if self.problem is not None:
            return
        data = memoryview(json.dumps(value, separators=(",", ":")).encode() + b"\n")
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            self.problem = error.strerror or str(error)


def row_of(exchange: Exchange) -> dict[str, Any]:
    """A line. Without a usage the prompt's length is not known and is null; the output is then what was seen
    of it, an event for a token."""
    usage = exchange.usage or Usage()
    prompt = usage.prompt
    row: dict[str, Any] = {
        "at_ms": _milliseconds(exchange.at_s),
        "prompt": prompt,
        "output": exchange.chunks if usage.output is None else usage.output,
    }
    if prompt is not None:
        ids = exchange.ids[: prompt // UNIT]
        row |= {"ids": runs(ids), "identified": len(ids) * UNIT} if ids else {}
    row |= {
        "counted": "usage" if usage.output is not None else "events",
        "status": exchange.status,
        "ttft_ms": _ms(exchange.first_s, exchange.at_s),
        "e2e_ms": _ms(exchange.end_s, exchange.at_s),
    }
    optional = {
        "cached": usage.cached,
        "session": exchange.session,
        "model": exchange.model,
        "aborted": exchange.aborted or None,
    }
    return row | {key: value for key, value in optional.items() if value is not None}


def _ms(time_s: float | None, start_s: float) -> float | None:
    return None if time_s is None else _milliseconds(time_s - start_s)


def json_object(text: bytes | str) -> dict[str, Any] | None:
    """The JSON object that the text is, if it is one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _milliseconds(time_s: float) -> float:
    return round(time_s * 1000, 3)
