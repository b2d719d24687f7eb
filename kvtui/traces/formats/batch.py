"""OpenAI batch files: input (requests without times or counts) and output (answers with usage)."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.leftout import rows as counted
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, items, records
from kvtui.traces.source import Source
from kvtui.traces.text import IDENTIFIED, TokenChains, messages_of
from kvtui.traces.timeunits import S
from kvtui.traces.tokenizer import Tokenizer, tokenizer_of
from kvtui.traces.workload import Workload

name = "openai-batch"
title = "OpenAI batch file, input or output"

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_PROMPTS = ("messages", "prompt", "input")


def matches(sample: Sample) -> bool:
    return not sample.tabular and sample.has("custom_id") and (sample.has("body") or sample.has("response"))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    return _output(source, options) if sample.has("response") else _input(source, options)


def _output(source: Source, options: Options) -> Workload:
    branches: list[int] = []
    names = Names("created", "prompt_tokens", "completion_tokens")
    columns = gather(
        source,
        options,
        names,
        _answers(source),
        unit=S,
        sure=True,
        keep=lambda row: branches.append(row.more),
    )
    said = ["created is when the provider began to answer, not when the request was made"]
    if several := sum(count > 1 for count in branches):
        said.append(
            f"{counted(several, 'request')} with several answers: read as one answer of all their tokens"
        )
    return columns.workload("openai-batch-output", assumed=said)


def _answers(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        body, usage = inside(record, "response", "body"), inside(record, "response", "body", "usage")
        prompt, output = inside(usage, "prompt_tokens"), inside(usage, "completion_tokens")
        yield Row(
            line,
            _first(inside(body, "created"), inside(body, "created_at")),
            _first(prompt, inside(usage, "input_tokens")),
            _first(output, inside(usage, "output_tokens")),
            why=_why(record),
            more=len(items(body, "choices")),
        )


def _first(value: object, other: object) -> object:
    return other if value is None else value


def _why(record: Record) -> str:
    status = inside(record, "response", "status_code")
    failed = bool(record.get("error")) or (status is not None and status != 200)
    return "the provider answered with an error" if failed else ""


def _input(source: Source, options: Options) -> Workload:
    chains, tokenizer = TokenChains(), tokenizer_of(options)
    names = Names(None, "the text", "max_tokens")
    columns = gather(
        source, options, names, _requests(source, tokenizer), keep=lambda row: chains.add(row.more)
    )
    said = [tokenizer.said, IDENTIFIED, "each answer is as long as max_tokens allows: real ones are shorter"]
    identity, estimated = chains.chains(columns), tokenizer.estimated
    return columns.workload("openai-batch-input", chains=identity, assumed=said, estimated=estimated)


def _requests(source: Source, tokenizer: Tokenizer) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        body = record.get("body")
        text = next((found for key in _PROMPTS if (found := messages_of(inside(body, key)))), "")
        tokens = tokenizer.cut(text)
        limit = next((found for key in _LIMITS if (found := inside(body, key)) is not None), None)
        why = "" if limit is not None else "no max_tokens, so the length of the answer is not known"
        yield Row(line, None, len(tokens), limit, why=why, more=tokens)
