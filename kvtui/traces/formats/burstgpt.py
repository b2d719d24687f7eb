"""BurstGPT: CSV with seconds, in its later files with sessions."""

from __future__ import annotations

from kvtui.traces.draft import Draft
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.workload import Workload

name = "burstgpt"
title = "BurstGPT CSV"

_TIME, _PROMPT, _OUTPUT, _SESSION = "Timestamp", "Request tokens", "Response tokens", "Session ID"
_NEEDED = (_TIME, _PROMPT, _OUTPUT)


def matches(sample: Sample) -> bool:
    """Two of the three columns are enough to know the format, and to name the one that is missing."""
    return sample.tabular and sum(sample.has(column) for column in _NEEDED) >= 2


def read(source: Source, sample: Sample, options: Options) -> Workload:
    table = Table(source)
    if missing := [column for column in _NEEDED if column not in table.columns]:
        raise source.error(
            f"a BurstGPT file without the column '{missing[0]}'.",
            line=1,
            hint=f"the columns are: {', '.join(table.columns)}",
        )
    draft = Draft(source, options, Names(*_NEEDED))
    sessions = Sessions()
    for piece in table.pieces():
        fields = piece.fields
        kept = draft.add(piece.line, time=fields[_TIME], prompt=fields[_PROMPT], output=fields[_OUTPUT])
        if _SESSION in fields:
            sessions.add(fields[_SESSION].take(kept).texts())
        if draft.full:
            break
    return sessions.workload(draft.finish(), "burstgpt-sessions" if sessions.known else "burstgpt")
