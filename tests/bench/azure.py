"""Azure requests as many as wanted: the conversation trace of 2023, one copy behind the other."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.shared import SHARED

TRACE = SHARED / "traces" / "azure2023_conv_rows0000-1499.csv"
TILE = timedelta(seconds=310)  # the rows there are span a little less


class Ask(NamedTuple):
    at: timedelta
    prompt: int
    output: int


def requests(count: int) -> Iterator[Ask]:
    """The first `count` requests."""
    with TRACE.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    times = [datetime.fromisoformat(row["TIMESTAMP"][:26]) for row in rows]
    for number in range(count):
        tile, place = divmod(number, len(rows))
        row = rows[place]
        at = times[place] - times[0] + TILE * tile
        yield Ask(at, int(row["ContextTokens"]), int(row["GeneratedTokens"]))


def write(path: Path, count: int) -> int:
    """Write them as the trace is written; returns how many tokens they generate."""
    start, tokens = datetime(2023, 11, 16, 18), 0
    with path.open("w") as file:
        file.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for ask in requests(count):
            file.write(f"{start + ask.at},{ask.prompt},{ask.output}\n")
            tokens += ask.output
    return tokens
