"""Any CSV or JSON file with a column of prompt tokens and one of output tokens, under names in common use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kvtui.traces.clock import MS, NS, US, S
from kvtui.traces.draft import Draft
from kvtui.traces.fields import numbers
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, batches, inside
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.workload import Workload

name = "plain"
title = "CSV or JSON with token counts (such as prompt_tokens, output_tokens)"


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Names as `_bare` makes them, the preferred ones first.
_PROMPT = _names(
    "prompttokens inputtokens inputlength promptlength promptlen inputlen numprefilltokens prefilltokens "
    "numprompttokens contexttokens contextlength inputsequencelength isl inputtoks promptsize prefill prompt "
    "input"
)
_OUTPUT = _names(
    "completiontokens outputtokens outputlength outputlen generatedtokens generationtokens numdecodetokens "
    "decodetokens numoutputtokens responsetokens responselength completionlength outputsequencelength osl "
    "outputtoks tokensize decode output completion generated"
)
_ARRIVAL = _names(
    "arrival arrivaltime arrivaltimestamp arrivedat timestamp starttime requesttime requeststart launchtime "
    "createdat created datetime time date ts at t"
)
_UNITS = {"": None, "ns": NS, "us": US, "ms": MS, "s": S, "sec": S, "seconds": S}


# Objects inside a record in which a log may keep the numbers of its request.
_INSIDE = ("usage", "response", "body", "request", "token_usage")


class _Found(NamedTuple):
    """The columns to read, and the unit of time that the arrival column has in its name (ns).

    A column inside an object is named with its path, as in usage.prompt_tokens.
    """

    arrival: str | None
    prompt: str
    output: str
    unit: int | None


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
    arrival = f", arrival from '{found.arrival}'" if found.arrival else ""
    said = f"prompt tokens from '{found.prompt}', output tokens from '{found.output}'{arrival}"
    return columns.workload("csv" if sample.tabular else "json", assumed=[said])


def _fill_from_table(draft: Draft, source: Source, found: _Found) -> None:
    for piece in Table(source).pieces():
        time = piece.fields[found.arrival] if found.arrival else None
        draft.add(piece.line, time=time, prompt=piece.fields[found.prompt], output=piece.fields[found.output])
        if draft.full:
            break


def _fill_from_records(draft: Draft, source: Source, found: _Found) -> None:
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


def find(columns: Sequence[str]) -> _Found | None:
    """The columns whose names are known; None without both kinds of tokens."""
    inner = {_bare(column.rpartition(".")[2]): column for column in reversed(columns)}
    bare = inner | {_bare(column): column for column in reversed(columns)}
    prompt, output = _first(bare, _PROMPT), _first(bare, _OUTPUT)
    if prompt is None or output is None:
        return None
    for suffix, unit in _UNITS.items():
        if arrival := _first(bare, [alias + suffix for alias in _ARRIVAL]):
            return _Found(arrival, prompt, output, unit)
    return _Found(None, prompt, output, None)


def _first(bare: dict[str, str], aliases: Sequence[str]) -> str | None:
    return next((bare[alias] for alias in aliases if alias in bare), None)


def _bare(column: str) -> str:
    """A column's name without capitals, blanks and punctuation."""
    return re.sub(r"[\W_]", "", column.lower())
