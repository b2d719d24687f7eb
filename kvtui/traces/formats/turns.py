"""Mooncake-shaped rows of AIPerf, GenAI-Perf and Dynamo: sessions, delays, waits on tools, text, deltas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

from kvtui.traces.blocks import identify, is_block_size
from kvtui.traces.chains import BlockIds
from kvtui.traces.following import Following
from kvtui.traces.formats.mooncake import BLOCK
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.text import IDENTIFIED, TokenChains, messages_of
from kvtui.traces.timeunits import MS
from kvtui.traces.tokenizer import Tokenizer, tokenizer_of
from kvtui.traces.workload import Workload

name = "mooncake-turns"
title = "Mooncake rows with sessions, delays or text (AIPerf, GenAI-Perf, Dynamo)"

_TIME, _PROMPT, _OUTPUT, _IDS = "timestamp", "input_length", "output_length", "hash_ids"
_TEXTS = ("text_input", "text", "messages", "payload", "prompt")
_MARKS = ("session_id", "delay", "wait_for", "tool_wait_ms", "text_input", "payload", "priority")
_WAITS = ("delay", "tool_wait_ms")
_WHOLE = "input_length is taken for the whole prompt, earlier turns included (--delta if it is the new part)"
_DELTA = "prompts of later turns get the tokens of the turns before added, as asked"
_URGENCY = "a smaller priority is more urgent, as in vLLM"


def matches(sample: Sample) -> bool:
    if sample.tabular or sample.has("chat_id") or not any(sample.has(mark) for mark in _MARKS):
        return False
    return sample.has(_OUTPUT) and (sample.has(_PROMPT) or any(sample.has(key) for key in _TEXTS))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    kept, tokenizer = _Kept(), tokenizer_of(options)
    timed = sample.has(_TIME) or any(sample.has(wait) for wait in _WAITS)
    names = Names(_TIME if timed else None, _PROMPT, _OUTPUT)
    found = _rows(source, _Turns(delta=options.delta), tokenizer)
    columns = gather(source, options, names, found, unit=MS, keep=kept.keep)
    said: list[str] = []
    if kept.sessions.known:
        said.append(_DELTA if options.delta else _WHOLE)
    if kept.estimated:
        said.append(tokenizer.said)
    format = "mooncake-delta" if options.delta else name
    if kept.hashed and not options.delta:
        chains, about = identify(columns, kept.block_ids, usual=BLOCK, given=options.block_size or kept.size)
        workload = columns.workload(format, chains=chains, assumed=[*said, *about])
    elif kept.estimated and not options.delta:
        chains, said = kept.chains.chains(columns), [*said, IDENTIFIED]
        workload = columns.workload(format, chains=chains, assumed=said, estimated=tokenizer.estimated)
    else:
        estimated = kept.estimated and tokenizer.estimated
        workload = kept.sessions.workload(columns, format, assumed=said, estimated=estimated)
    workload = kept.following.joined(workload, columns)
    urgency = columns.urgency(kept.priority)
    if urgency is None:
        return workload
    return replace(workload, priority=urgency, assumed=(*workload.assumed, _URGENCY))


@dataclass(slots=True)
class _Kept:
    """What the rows that are used say about prefix identity and urgency."""

    sessions: Sessions = field(default_factory=Sessions)
    following: Following = field(default_factory=Following)
    block_ids: BlockIds = field(default_factory=BlockIds)
    chains: TokenChains = field(default_factory=TokenChains)
    priority: list[object] = field(default_factory=list)
    hashed: bool = False
    estimated: bool = False
    size: int | None = None

    def keep(self, row: Row) -> None:
        record, tokens = row.more
        ids, size = record.get(_IDS), record.get("block_size")
        session, request = _key(record.get("session_id")), _key(record.get("request_id"))
        self.sessions.add([session])
        self.following.add(
            Decimal(str(row.time)) if row.time is not None else Decimal(0),
            known_as=[key for key in (session, request) if key is not None],
            after=_awaited(record),
            wait_ns=-1 if _decimal(record.get(_TIME)) is not None else round(_wait(record) * MS),
        )
        self.block_ids.add([ids])
        self.chains.add(tokens)
        self.priority.append(record.get("priority"))
        self.hashed |= isinstance(ids, list) and bool(ids)
        self.estimated |= bool(tokens)
        self.size = size if is_block_size(size) else self.size


@dataclass(slots=True)
class _Turns:
    """Arrivals (ms) and lengths that follow from earlier rows."""

    delta: bool
    _last: dict[object, Decimal] = field(default_factory=dict)  # of a session or a request
    _tokens: dict[object, int] = field(default_factory=dict)  # prompt and answer of a session so far

    def arrival(self, record: Record) -> str | None:
        """The time a row states, or that of the row it waits for and how long it waits."""
        session, request = _key(record.get("session_id")), _key(record.get("request_id"))
        time = _decimal(record.get(_TIME))
        if time is None:
            start = max((self._last[key] for key in _awaited(record) if key in self._last), default=None)
            if start is None and all(_decimal(record.get(wait)) is None for wait in _WAITS):
                return None
            time = (start or Decimal(0)) + _wait(record)
        for key in (session, request):
            if key is not None:
                self._last[key] = time
        return str(time)

    def prompt(self, record: Record, length: object) -> object:
        """The whole prompt."""
        session, output = _key(record.get("session_id")), record.get(_OUTPUT)
        if not self.delta or session is None or type(length) is not int:
            return length
        whole = self._tokens.get(session, 0) + length
        self._tokens[session] = whole + (output if type(output) is int else 0)
        return whole


def _rows(source: Source, turns: _Turns, tokenizer: Tokenizer) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        length, tokens = record.get(_PROMPT), list[object]()
        if length is None:
            tokens = tokenizer.cut(_text(record))
            length = len(tokens) or None
        prompt, time = turns.prompt(record, length), turns.arrival(record)
        yield Row(line, time, prompt, record.get(_OUTPUT), more=(record, tokens))


def _text(record: Record) -> str:
    found = [
        *(record.get(key) for key in _TEXTS),
        inside(record, "payload", "messages"),
        inside(record, "payload", "prompt"),
    ]
    return next((text for value in found if (text := messages_of(value))), "")


def _key(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


def _awaited(record: Record) -> list[str | None]:
    """Keys of the requests whose ends a row waits for."""
    return [*_keys(record.get("wait_for")), _key(record.get("session_id"))]


def _wait(record: Record) -> Decimal:
    """Milliseconds from their end on."""
    waits = (_decimal(record.get(wait)) for wait in _WAITS)
    return sum((wait for wait in waits if wait is not None), Decimal(0))


def _keys(value: object) -> list[str | None]:
    return [_key(item) for item in value] if isinstance(value, list) else [_key(value)]


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found) < 2**62 else None
