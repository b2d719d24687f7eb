"""Requests as text without token counts: LMCache agent traces, lists of prompts or messages."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.traces.formats import plain
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, records
from kvtui.traces.source import Source
from kvtui.traces.text import IDENTIFIED, TokenChains, messages_of
from kvtui.traces.tokenizer import Tokenizer, tokenizer_of
from kvtui.traces.workload import Workload

name = "texts"
title = "requests as text (LMCache agent traces; prompt or messages with the answer or its length)"

_PROMPTS = ("input", "messages", "prompt", "text_input", "text")
_ANSWERS = ("output", "response", "completion", "answer")
_LENGTHS = ("output_length", "output_tokens", "max_tokens", "expected_output_len", "output_len")
_TIMES = ("timestamp", "arrival_time", "created")


def matches(sample: Sample) -> bool:
    """Text under a name for prompts, the answer or its length beside it, and no token counts."""
    if sample.tabular or plain.matches(sample):
        return False
    return any(_prompt(record) and _answer(record) is not None for record in sample.records)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    timed = next((key for key in _TIMES if sample.has(key)), None)
    chains, tokenizer = TokenChains(), tokenizer_of(options)
    names = Names(timed, "the prompt", "the answer")
    columns = gather(
        source, options, names, _rows(source, timed, tokenizer), keep=lambda row: chains.add(row.more)
    )
    format = "lmcache-agent" if sample.has("input", "output", "session_id") else name
    said = [tokenizer.said, IDENTIFIED]
    identity, estimated = chains.chains(columns), tokenizer.estimated
    return columns.workload(format, chains=identity, assumed=said, estimated=estimated)


def _rows(source: Source, timed: str | None, tokenizer: Tokenizer) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        tokens, answer = tokenizer.cut(_prompt(record)), _answer(record)
        output = tokenizer.cut(answer) if isinstance(answer, str) else []
        length = len(output) if isinstance(answer, str) else answer
        yield Row(line, record.get(timed or ""), len(tokens), length, more=[*tokens, *output])


def _prompt(record: Record) -> str:
    return next((text for key in _PROMPTS if (text := messages_of(record.get(key)))), "")


def _answer(record: Record) -> float | str | None:
    """The number of tokens of the answer as the file has it, or its text; None without either."""
    lengths = (record.get(key) for key in _LENGTHS)
    length = next((value for value in lengths if isinstance(value, int | float)), None)
    texts = (messages_of(record.get(key)) for key in _ANSWERS)
    return next((text for text in texts if text is not None), None) if length is None else length
