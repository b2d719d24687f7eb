"""Workloads of LLMServingSim: single requests, and agents that call one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kvtui.traces.clock import NS
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.text import UNIT, TokenChains
from kvtui.traces.workload import Workload

name = "llmservingsim"
title = "LLMServingSim workload"

_TIME, _PROMPT, _OUTPUT, _SUBS, _WAIT = (
    "arrival_time_ns",
    "input_toks",
    "output_toks",
    "sub_requests",
    "tool_duration_ns",
)
_CLOSED = "calls of a session arrive when the tool before them would end if answers took no time"


@dataclass(slots=True)
class _Seen:
    sessions: Sessions = field(default_factory=Sessions)
    chains: TokenChains = field(default_factory=TokenChains)
    tokens: bool = False
    closed: bool = False

    def keep(self, row: Row) -> None:
        session, tokens, closed = row.more
        self.sessions.add([session])
        self.chains.add(tokens)
        self.tokens |= bool(tokens)
        self.closed |= closed


def matches(sample: Sample) -> bool:
    if sample.tabular:
        return False
    return sample.has(_PROMPT, _OUTPUT) or any(isinstance(found, list) for found in sample.column(_SUBS))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    seen = _Seen()
    names = Names(_TIME if sample.has(_TIME) else None, _PROMPT, _OUTPUT)
    columns = gather(source, options, names, _rows(source), unit=NS, sure=True, keep=seen.keep)
    said = [_CLOSED] if seen.closed else []
    if not seen.tokens:
        return seen.sessions.workload(columns, name, assumed=said)
    said.append(f"prompts share the tokens they have in common from the start, in units of {UNIT}")
    return columns.workload(name, chains=seen.chains.chains(columns), assumed=said)


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        calls = record.get(_SUBS)
        if not isinstance(calls, list):
            yield _row(line, record, record.get(_TIME), session=record.get("session_id"), closed=False)
            continue
        time = record.get(_TIME)
        for call in calls:
            if not isinstance(call, dict):
                yield broken(line)
                continue
            yield _row(line, call, time, session=record.get("session_id"), closed=len(calls) > 1)
            wait = call.get(_WAIT)
            time = time + wait if type(time) is int and type(wait) is int else time


def _row(line: int, request: Record, time: object, *, session: object, closed: bool) -> Row:
    tokens = [*_ids(request, "input_tok_ids"), *_ids(request, "output_tok_ids")]
    more = (session if isinstance(session, str | int) else None, tokens, closed)
    return Row(line, time, request.get(_PROMPT), request.get(_OUTPUT), more=more)


def _ids(request: Record, key: str) -> list[int]:
    found = request.get(key)
    return found if isinstance(found, list) and set(map(type, found)) <= {int} else []
