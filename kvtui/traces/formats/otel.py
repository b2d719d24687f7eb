"""OpenTelemetry spans of generative AI calls: OTLP JSON, and flat dumps of spans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.leftout import rows as counted
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.spans import Span, flat_spans, otlp_spans, summing_up
from kvtui.traces.timeunits import NS
from kvtui.traces.workload import Workload

name = "otel"
title = "OpenTelemetry GenAI spans"

_PROMPT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens")
_OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.usage.completion_tokens")
_BRANCHES = ("gen_ai.request.choice.count", "gen_ai.request.n")
_CONVERSATION = ("gen_ai.conversation.id", "session.id")
_OPERATION = "gen_ai.operation.name"
_NO_GENERATION = ("execute_tool", "invoke_agent", "create_agent", "embeddings")
_BRANCHED = "with several answers: read as one answer of all their tokens"


@dataclass(slots=True)
class _Seen:
    sessions: Sessions
    branched: int = 0

    def keep(self, row: Row) -> None:
        session, branched = row.more
        self.sessions.add([session])
        self.branched += branched


def matches(sample: Sample) -> bool:
    if sample.tabular:
        return False
    spans = [span for record in sample.records for span in _candidates(record)]
    return sample.has("resourceSpans") or any(
        isinstance(span, dict)
        and "attributes" in span
        and ("start_time" in span or "startTimeUnixNano" in span)
        for span in spans
    )


def _candidates(record: Record) -> list[Any]:
    inner = record.get("spans")
    return inner if isinstance(inner, list) else [record]


def read(source: Source, sample: Sample, options: Options) -> Workload:
    otlp = sample.has("resourceSpans")
    seen = _Seen(Sessions())
    columns = gather(
        source,
        options,
        Names(
            "startTimeUnixNano" if otlp else "start_time",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
        ),
        _rows(source, otlp=otlp),
        unit=NS,
        sure=otlp,
        keep=seen.keep,
    )
    said = [f"{counted(seen.branched, 'request')} {_BRANCHED}"] if seen.branched else []
    return seen.sessions.workload(columns, "otlp" if otlp else "otel-spans", assumed=said)


def _rows(source: Source, *, otlp: bool) -> Iterator[Row]:
    found: list[tuple[int, Span | None]] = []
    for line, record in records(source):
        spans = (otlp_spans(record) if otlp else flat_spans(record)) if record is not None else [None]
        found += [(line, span) for span in spans]
    sums = summing_up([span for _, span in found if span is not None and usage_of(span)])
    for line, span in found:
        if span is None:
            yield broken(line)
            continue
        why = _why(span) or ("sums up the calls inside it" if span.id in sums else "")
        more = (_any(span, _CONVERSATION), _any(span, _BRANCHES) not in (None, 1, "1"))
        yield Row(line, span.start, _any(span, _PROMPT), _any(span, _OUTPUT), why=why, more=more)


def _why(span: Span) -> str:
    if span.failed:
        return "status error"
    operation = _any(span, (_OPERATION,))
    if operation in _NO_GENERATION:
        return f"operation {operation}"
    return "" if usage_of(span) else "no token usage"


def usage_of(span: Span) -> tuple[Any, Any] | None:
    """Prompt and output tokens as the span has them; None where it has not both."""
    usage = _any(span, _PROMPT), _any(span, _OUTPUT)
    return None if None in usage else usage


def _any(span: Span, keys: tuple[str, ...]) -> Any:
    return next((found for key in keys if (found := inside(span.attributes, key)) is not None), None)
