"""Requests one by one: for formats whose records are too varied to be read a column at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from kvtui.traces.columns import Columns
from kvtui.traces.draft import Draft
from kvtui.traces.leftout import NOT_AN_OBJECT
from kvtui.traces.options import Names, Options
from kvtui.traces.source import Source
from kvtui.traces.timeunits import S

_BATCH = 1024


class Row(NamedTuple):
    """One request as the file has it: its values unread, and what its format needs for prefix identity."""

    line: int
    time: object = None
    prompt: object = None
    output: object = None
    why: str = ""  # why it is left out
    more: Any = None


def broken(line: int) -> Row:
    """A record that is no JSON object."""
    return Row(line, why=NOT_AN_OBJECT)


def gather(
    source: Source,
    options: Options,
    names: Names,
    rows: Iterable[Row],
    *,
    unit: int = S,
    sure: bool = False,
    keep: Callable[[Row], None] | None = None,
) -> Columns:
    """Read `rows`, hand each that is kept to `keep`, and sort them; `unit` and `sure` as in Draft.finish."""
    draft = Draft(source, options, names)
    found = iter(rows)
    while batch := list(islice(found, _BATCH)):
        for place in _add(draft, batch, timed=names.time is not None):
            if keep:
                keep(batch[place])
        if draft.full:
            break
    return draft.finish(unit=unit, sure=sure)


def _add(draft: Draft, batch: Sequence[Row], *, timed: bool) -> list[int]:
    line, time, prompt, output, why, _ = zip(*batch, strict=True)
    reasons = np.array(why)
    kept = draft.add(
        np.array(line, np.int64),
        time=time if timed else None,
        prompt=prompt,
        output=output,
        broken=reasons == NOT_AN_OBJECT,
        unwanted={
            reason: reasons == reason for reason in dict.fromkeys(why) if reason not in ("", NOT_AN_OBJECT)
        },
    )
    places: list[int] = kept.tolist()
    return places
