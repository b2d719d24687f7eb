"""Any CSV or JSON file with a column of prompt tokens and one of output tokens, under names in common use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kvtui.traces.draft import Draft
from kvtui.traces.fields import numbers
from kvtui.traces.loader import Sample
from kvtui.traces.naming import Found, find
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, batches, inside
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "plain"
title = "CSV or JSON with token counts (such as prompt_tokens, output_tokens)"


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Objects inside a record in which a log may keep the numbers of its request.
_INSIDE = ("usage", "response", "body", "request", "token_usage")


def matches(sample: Sample) -> bool:
    return find(_columns(sample)) is not None and text_column(sample) is None


def _columns(sample: Sample) -> list[str]:
    """The names of columns, and the paths to numbers in objects."""
    return list(
        dict.fromkeys([*sample.columns, *(path for row in sample.records for path in _paths(row, ""))])
    )


def _paths(record: Record, above: str) -> Iterator[str]:
    for key in _INSIDE:
        inner = record.get(key)
        if isinstance(inner, dict):
            yield from (f"{above}{key}.{name}" for name in inner)
            yield from _paths(inner, f"{above}{key}.")


def text_column(sample: Sample) -> str | None:
    """A column that should hold token counts by its name, but holds no number."""
    found = find(_columns(sample))
    columns = (found.prompt, found.output) if found else ()
    return next((column for column in columns if not numbers(_column(sample.records, column)).ok.any()), None)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    found = find(_columns(sample))
    assert found is not None, "the sample matched"
    draft = Draft(source, options, Names(found.arrival, found.prompt, found.output))
    fill = _fill_from_table if sample.tabular else _fill_from_records
    fill(draft, source, found)
    columns = draft.finish(unit=found.unit or S, sure=found.unit is not None)
    return columns.workload("csv" if sample.tabular else "json", assumed=[found.told])


def _fill_from_table(draft: Draft, source: Source, found: Found) -> None:
    for piece in Table(source).pieces():
        time = piece.fields[found.arrival] if found.arrival else None
        draft.add(piece.line, time=time, prompt=piece.fields[found.prompt], output=piece.fields[found.output])
        if draft.full:
            break


def _fill_from_records(draft: Draft, source: Source, found: Found) -> None:
    for batch in batches(source):
        time = _column(batch.records, found.arrival) if found.arrival else None
        draft.add(
            batch.line,
            time=time,
            prompt=_column(batch.records, found.prompt),
            output=_column(batch.records, found.output),
            broken=batch.broken,
        )
        if draft.full:
            break


def _column(records: Sequence[Record], path: str) -> list[Any]:
    """Values by the name of a column, or by the path to one."""
    steps = path.split(".")
    return [record[path] if path in record else inside(record, *steps) for record in records]
