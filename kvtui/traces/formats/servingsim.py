"""Workloads of LLMServingSim: single requests, and agents that call one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from kvtui.traces.following import Following
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.text import UNIT, TokenChains
from kvtui.traces.timeunits import NS
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


@dataclass(slots=True)
class _Seen:
    sessions: Sessions = field(default_factory=Sessions)
    chains: TokenChains = field(default_factory=TokenChains)
    tokens: bool = False
    following: Following = field(default_factory=Following)

    def keep(self, row: Row) -> None:
        session, tokens, group, wait = row.more
        self.sessions.add([session])
        self.chains.add(tokens)
        self.tokens |= bool(tokens)
        time = Decimal(row.time) if type(row.time) is int else Decimal(0)
        self.following.add(time, known_as=[group], after=[group], wait_ns=wait)


def matches(sample: Sample) -> bool:
    if sample.tabular:
        return False
    return sample.has(_PROMPT, _OUTPUT) or any(isinstance(found, list) for found in sample.column(_SUBS))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    seen = _Seen()
    names = Names(_TIME if sample.has(_TIME) else None, _PROMPT, _OUTPUT)
    columns = gather(source, options, names, _rows(source), unit=NS, sure=True, keep=seen.keep)
    if not seen.tokens:
        return seen.following.joined(seen.sessions.workload(columns, name), columns)
    said = f"prompts share the tokens they have in common from the start, in units of {UNIT}"
    workload = columns.workload(name, chains=seen.chains.chains(columns), assumed=[said])
    return seen.following.joined(workload, columns)


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        calls = record.get(_SUBS)
        if not isinstance(calls, list):
            yield _row(line, record, record.get(_TIME), session=record.get("session_id"), group=line)
            continue
        time, wait = record.get(_TIME), -1
        for call in calls:
            if not isinstance(call, dict):
                yield broken(line)
                continue
            yield _row(line, call, time, session=record.get("session_id"), group=line, wait=wait)
            tool = call.get(_WAIT)
            wait = max(tool, 0) if type(tool) is int else 0
            time = time + wait if type(time) is int else time


def _row(line: int, request: Record, time: object, *, session: object, group: int, wait: int = -1) -> Row:
    """A request; the calls of one `group` follow one another, `wait` ns after the end of the one before."""
    tokens = [*_ids(request, "input_tok_ids"), *_ids(request, "output_tok_ids")]
    more = (session if isinstance(session, str | int) else None, tokens, group, wait)
    return Row(line, time, request.get(_PROMPT), request.get(_OUTPUT), more=more)


def _ids(request: Record, key: str) -> list[int]:
    found = request.get(key)
    return found if isinstance(found, list) and set(map(type, found)) <= {int} else []
