"""RAGPulse: ids of the pieces of a prompt by kind, whose lengths stand in files beside the trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, items, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.text import UNIT, TokenChains
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "ragpulse"
title = "RAGPulse JSON Lines"

_TIME, _PROMPT, _OUTPUT, _IDS = "timestamp", "input_length", "output_length", "hash_ids"
_KINDS = ("sys_prompt", "passages_ids", "history", "web_search", "user_input")  # in the order of the prompt
_LENGTH = "token_length"
_LONGEST = 1 << 20  # tokens of a piece


def matches(sample: Sample) -> bool:
    return not sample.tabular and any(isinstance(ids, dict) for ids in sample.column(_IDS))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    sessions, chains, lengths = Sessions(), TokenChains(), _lengths(source)

    def keep(row: Row) -> None:
        sessions.add([row.more.get("session_id")])
        chains.add(_tokens(row.more, lengths) if lengths else ())

    names = Names(_TIME, _PROMPT, _OUTPUT)
    columns = gather(source, options, names, _rows(source), unit=S, sure=True, keep=keep)
    if not lengths:
        said = "the files with the lengths of pieces are not beside the trace: their ids are not used"
        return sessions.workload(columns, name, assumed=[said])
    said = f"prompts share pieces in the order {', '.join(_KINDS)}, in units of {UNIT} tokens"
    workload = columns.workload(name, chains=chains.chains(columns), assumed=[said])
    return sessions.joined(workload, columns)


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
        else:
            yield Row(line, record.get(_TIME), record.get(_PROMPT), record.get(_OUTPUT), more=record)


def _tokens(record: Record, lengths: dict[int, int]) -> list[int]:
    """A number for each token of the prompt, up to the first piece of unknown length."""
    tokens: list[int] = []
    for kind in _KINDS:
        for piece in items(record, _IDS, kind):
            if not isinstance(piece, int) or piece not in lengths:
                return tokens
            tokens += range(piece * _LONGEST, piece * _LONGEST + lengths[piece])
    prompt = record.get(_PROMPT)
    return tokens[:prompt] if type(prompt) is int else tokens


def _lengths(source: Source) -> dict[int, int]:
    """Tokens of each piece, out of the files [1-5]_*.jsonl in the folder of the trace."""
    found: dict[int, int] = {}
    for path in sorted(Path(source.label).parent.glob("[1-5]_*.jsonl")):
        for text in path.read_text("utf-8", "replace").splitlines():
            try:
                row = json.loads(text)
            except ValueError:
                continue
            length = inside(row, _LENGTH)
            ids = [value for key, value in row.items() if key.endswith("_id")] if length is not None else []
            if len(ids) == 1 and type(ids[0]) is int and type(length) is int and 0 < length < _LONGEST:
                found[ids[0]] = length
    return found
