"""Per-request records of AIPerf (profile_export.jsonl)."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.timeunits import NS
from kvtui.traces.workload import Workload

name = "aiperf"
title = "AIPerf profile_export.jsonl"

_TIME = "request_start_ns"
_PROMPT, _OUTPUT = "input_sequence_length", "output_sequence_length"
_PHASE = "profiling"


def matches(sample: Sample) -> bool:
    return not sample.tabular and any(
        isinstance(data, dict) and _TIME in data for data in sample.column("metadata")
    )


def read(source: Source, sample: Sample, options: Options) -> Workload:
    sessions = Sessions()
    columns = gather(
        source,
        options,
        Names(_TIME, _PROMPT, _OUTPUT),
        _rows(source),
        unit=NS,
        sure=True,
        keep=lambda row: sessions.add([row.more]),
    )
    return sessions.workload(columns, name)


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        yield Row(
            line,
            inside(record, "metadata", _TIME),
            inside(record, "metrics", _PROMPT, "value"),
            inside(record, "metrics", _OUTPUT, "value"),
            why=_why(record),
            more=inside(record, "metadata", "conversation_id"),
        )


def _why(record: Record) -> str:
    if inside(record, "metadata", "was_cancelled"):
        return "cancelled"
    if record.get("error"):
        return "the benchmark recorded an error"
    phase = inside(record, "metadata", "benchmark_phase")
    return "" if phase in (None, _PHASE) else "not in the profiling phase"
