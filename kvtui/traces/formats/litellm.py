"""Spend logs of the LiteLLM gateway, as JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import records
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.workload import Workload

name = "litellm"
title = "LiteLLM spend logs"

_TIME, _PROMPT, _OUTPUT = "startTime", "prompt_tokens", "completion_tokens"
_USED = (_TIME, _PROMPT, _OUTPUT, "status", "cache_hit", "call_type")
_NOT_GENERATING = ("embedding", "moderation", "transcription", "speech", "image", "rerank")
CACHED = "answered from the gateway's own cache (--keep-cached keeps them)"


def matches(sample: Sample) -> bool:
    return sample.has(_TIME, _PROMPT, _OUTPUT)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    found = _table_rows(source) if sample.tabular else records(source)
    rows = (_row(line, record, options) if record is not None else broken(line) for line, record in found)
    return gather(source, options, Names(_TIME, _PROMPT, _OUTPUT), rows).workload(name)


def _table_rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for piece in Table(source).pieces():
        used = [key for key in _USED if key in piece.fields]
        cells = zip(*(piece.fields[key].texts() for key in used), strict=True)
        for line, row in zip(piece.line.tolist(), cells, strict=True):
            yield line, dict(zip(used, row, strict=True))


def _row(line: int, record: Mapping[str, Any], options: Options) -> Row:
    why = _why(record, options)
    return Row(line, record.get(_TIME), record.get(_PROMPT), record.get(_OUTPUT), why=why)


def _why(record: Mapping[str, Any], options: Options) -> str:
    if str(record.get("cache_hit")).lower() == "true" and not options.keep_cached:
        return CACHED
    if any(kind in str(record.get("call_type")) for kind in _NOT_GENERATING):
        return "not a call that generates text"
    failed = record.get("status") == "failure" and not options.keep_failed
    return "status failure" if failed else ""
