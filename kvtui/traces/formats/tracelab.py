"""TraceLab: one row for each round of an agent with its model."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, items, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.workload import Workload

name = "tracelab"
title = "TraceLab JSON Lines"

_PROMPT, _EVENTS = "input_tokens_total", "timing_events"
_OUTPUT = ("output_tokens", "output_tokens_total", "completion_tokens", "generated_tokens")


def matches(sample: Sample) -> bool:
    return not sample.tabular and sample.has(_PROMPT, _EVENTS)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    sessions = Sessions()
    columns = gather(
        source,
        options,
        Names(_EVENTS, _PROMPT, next((key for key in _OUTPUT if sample.has(key)), _OUTPUT[0])),
        _rows(source),
        keep=lambda row: sessions.add([row.more]),
    )
    said = "a round arrives at its latest input event; prefix_tokens were measured hits and are not used"
    return sessions.workload(columns, name, assumed=[said])


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        output = next((record[key] for key in _OUTPUT if record.get(key) is not None), None)
        session = record.get("session_id")
        more = session if isinstance(session, str | int) else None
        yield Row(line, _submitted(record), record.get(_PROMPT), output, more=more)


def _submitted(record: Record) -> str | None:
    """The latest input event; times are ISO dates, which sort as text."""
    times = [
        str(inside(event, "timestamp"))
        for event in items(record, _EVENTS)
        if "input" in str(inside(event, "event_type")).lower()
    ]
    return max(times, default=None)
