"""Workload files of AIBrix: each line is one instant with the requests that arrive then."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.leftout import rows as counted
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.text import messages_of
from kvtui.traces.timeunits import MS
from kvtui.traces.tokenizer import Tokenizer, tokenizer_of
from kvtui.traces.workload import Workload

name = "aibrix"
title = "AIBrix workload"

_PROMPT = ("prompt_length", "Prompt Length")
_OUTPUT = ("output_length", "Output Length")


def matches(sample: Sample) -> bool:
    requests = sample.column("requests")
    return (
        not sample.tabular and sample.has("timestamp") and any(isinstance(found, list) for found in requests)
    )


def read(source: Source, sample: Sample, options: Options) -> Workload:
    sessions, estimated, tokenizer = Sessions(), 0, tokenizer_of(options)

    def keep(row: Row) -> None:
        nonlocal estimated
        session, guessed = row.more
        sessions.add([session])
        estimated += guessed

    names = Names("timestamp", _PROMPT[0], _OUTPUT[0])
    columns = gather(source, options, names, _rows(source, tokenizer), unit=MS, keep=keep)
    said = [f"{counted(estimated, 'prompt')} without a length. {tokenizer.said}"] if estimated else []
    return sessions.workload(columns, name, assumed=said, estimated=estimated > 0 and tokenizer.estimated)


def _rows(source: Source, tokenizer: Tokenizer) -> Iterator[Row]:
    for line, record in records(source):
        requests = record.get("requests") if record is not None else None
        if record is None or not isinstance(requests, list):
            yield broken(line)
            continue
        for request in requests:
            yield _row(line, record, request, tokenizer) if isinstance(request, dict) else broken(line)


def _row(line: int, record: Record, request: Record, tokenizer: Tokenizer) -> Row:
    prompt = _first(request, _PROMPT)
    text = messages_of(request.get("prompt")) if prompt is None else None
    length = len(tokenizer.cut(text)) if text else prompt
    more = (request.get("session_id"), text is not None)
    return Row(line, record.get("timestamp"), length, _first(request, _OUTPUT), more=more)


def _first(request: Record, keys: tuple[str, ...]) -> object:
    return next((request[key] for key in keys if request.get(key) is not None), None)
