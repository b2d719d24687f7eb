"""Spans of OpenTelemetry out of the documents they are written in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kvtui.traces.dates import dates
from kvtui.traces.fields import BILLION, Field, number
from kvtui.traces.records import Record, inside, items

_ERROR = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue")


@dataclass(frozen=True, slots=True)
class Span:
    """One span: times as the file has them, attributes as a plain dictionary."""

    id: str
    parent: str
    start: object
    end: object
    attributes: dict[str, Any]
    failed: bool


def otlp_spans(document: Record) -> list[Span | None]:
    """All spans of an OTLP/JSON document in its order; None for what is none."""
    return [
        _span(span, id="spanId", parent="parentSpanId", start="startTimeUnixNano", end="endTimeUnixNano")
        for resource in items(document, "resourceSpans")
        for scope in [*items(resource, "scopeSpans"), *items(resource, "instrumentationLibrarySpans")]
        for span in items(scope, "spans")
    ]


def flat_spans(record: Record) -> list[Span | None]:
    """The spans of a flat dump: those of a trace, or the record itself."""
    spans = record["spans"] if isinstance(record.get("spans"), list) else [record]
    return [
        _span(span, id="span_id", parent="parent_span_id", start="start_time", end="end_time")
        for span in spans
    ]


def _span(span: object, *, id: str, parent: str, start: str, end: str) -> Span | None:
    if not isinstance(span, dict):
        return None
    status = span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else status
    return Span(
        str(span.get(id) or ""),
        str(span.get(parent) or ""),
        span.get(start),
        span.get(end),
        _attributes(span.get("attributes")),
        failed=isinstance(code, int | str) and code in _ERROR,
    )


def _attributes(found: object) -> dict[str, Any]:
    if isinstance(found, dict):
        return found
    pairs = found if isinstance(found, list) else []
    return {str(inside(pair, "key")): _value(inside(pair, "value")) for pair in pairs}


def _value(found: object) -> Any:
    return (
        next((found[kind] for kind in _VALUES if kind in found), None) if isinstance(found, dict) else found
    )


def summing_up(spans: Sequence[Span]) -> set[str]:
    """Ids of spans that are above another of these and enclose it in time: they repeat its tokens."""
    by_id = {span.id: span for span in spans if span.id}
    return {above for span in spans for above in _above(span, by_id) if _encloses(by_id[above], span)}


def _above(span: Span, by_id: dict[str, Span]) -> Iterator[str]:
    seen = {span.id}
    while (parent := span.parent) in by_id and parent not in seen:
        yield parent
        seen.add(parent)
        span = by_id[parent]


def _encloses(outer: Span, inner: Span) -> bool:
    times = [_ns(time) for time in (outer.start, inner.start, inner.end, outer.end)]
    known = [time for time in times if time is not None]
    return len(known) == len(times) and known == sorted(known)


def _ns(time: object) -> int | None:
    read = number(time)
    if read is None:
        dated, _ = dates(Field.of([time if isinstance(time, str) else ""]))
        read = (int(dated.whole[0]), int(dated.nano[0])) if dated.ok[0] else None
    return None if read is None else read[0] * BILLION + read[1]
