"""Small tables in good order, read at once: sooner than numpy is loaded, which all other reading takes.

Whatever is unusual in a file is left to the loaders; they would read what is read here alike.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from kvtui.traces.naming import Found, find
from kvtui.traces.notes import note_on_prompts, note_on_unit, note_on_zone, notes_on_time
from kvtui.traces.source import Source
from kvtui.traces.timeunits import YEAR_NS, S, unit_of
from kvtui.traces.workload import Workload

MOST = 1 << 20  # bytes of a table that is read here
AZURE = "TIMESTAMP", "ContextTokens", "GeneratedTokens"
_COUNT = r"([0-9]{1,9})"
_DATE = r"([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
_NUMBER = r"([0-9]{1,18})(?:\.([0-9]{1,9}))?"
Texts = tuple[str, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(source: Source) -> Workload | None:
    """The table of `source`: one of Azure, or one with an arrival, prompt and output tokens and no more. None
    where it is large, or anything about it asks for a closer look."""
    text = _text(source)
    header, _, body = text.partition("\n")
    columns = [name.strip() for name in header.split(",")]
    azure = tuple(columns) == AZURE
    found = Found(*AZURE, unit=None) if azure else find(columns)
    if found is None or not (azure or _known(found, columns)):
        return None
    assert found.arrival is not None
    dated = "-" in body.partition("\n")[0]
    parts = {found.arrival: _DATE if dated else _NUMBER, found.prompt: _COUNT, found.output: _COUNT}
    rows = re.findall(f"^{','.join(parts[name] for name in columns)}$", body, re.MULTILINE)
    if not rows or len(rows) < body.count("\n"):
        return None
    groups = iter(zip(*rows, strict=True))
    texts = {name: (next(groups), next(groups) if name == found.arrival else ()) for name in columns}
    return _workload(source, found, texts, dated=dated)


def _text(source: Source) -> str:
    """All of a small text of whole lines without quotes; nothing of another one."""
    blocks = source.blocks(MOST)
    block = next(blocks, b"")
    text = block.replace(b"\r\n", b"\n")
    whole = text.endswith(b"\n") and len(block) < MOST and not next(blocks, b"")
    return text.decode() if whole and text.isascii() and b'"' not in text else ""


def _known(found: Found, columns: Sequence[str]) -> bool:
    """Whether these are all columns there are, under names that no format has made its own."""
    named = {found.arrival, found.prompt, found.output}
    return found.arrival is not None and found.arrival.startswith("arrival") and named == {*columns}


def _workload(
    source: Source, found: Found, texts: dict[str, tuple[Texts, Texts]], *, dated: bool
) -> Workload | None:
    """Columns of digits, before and behind the point, as a workload."""
    units, fractions = texts[str(found.arrival)]
    whole = _seconds(units) if dated else [*map(int, units)]
    prompt, output = (array("q", map(int, texts[name][0])) for name in (found.prompt, found.output))
    if not whole or 0 in prompt or 0 in output:
        return None
    unit = S if dated else found.unit or unit_of(whole[0], usual=S)
    nano = [int(digits.ljust(9, "0")) for digits in fractions]
    ns = [(w - whole[0]) * unit + (n * unit + S // 2) // S for w, n in zip(whole, nano, strict=True)]
    if any(later < sooner for sooner, later in pairwise(ns)) or (whole[-1] - whole[0]) * unit > YEAR_NS:
        return None
    arrival_ns = array("q", [at - ns[0] for at in ns])
    line = array("q", range(2, len(ns) + 2))
    said = [
        *_said_of_time(found, unit, dated=dated, last_ns=arrival_ns[-1], requests=len(ns)),
        *notes_on_time(arrival_ns, line),
        *note_on_prompts(prompt),
    ]
    azure = (found.arrival, found.prompt, found.output) == AZURE
    return Workload(
        name=source.name,
        format="azure-2023" if azure else "csv",
        arrival_ns=arrival_ns,
        prompt=prompt,
        output=output,
        line=line,
        assumed=(*said, *([] if azure else [found.told])),
        sha256=source.sha256,
        origin_ns=whole[0] * unit + (nano[0] * unit + S // 2) // S,
    )


def _seconds(dates: Sequence[str]) -> list[int]:
    """Seconds since 1970; empty where one is no date."""
    try:
        return [int((datetime.fromisoformat(date + "+00:00") - _EPOCH).total_seconds()) for date in dates]
    except ValueError:
        return []


def _said_of_time(found: Found, unit: int, *, dated: bool, last_ns: int, requests: int) -> Iterator[str]:
    column = str(found.arrival)
    if dated:
        yield note_on_zone(column)
    elif not found.unit:
        yield note_on_unit(column, unit=unit, last_ns=last_ns, requests=requests)
