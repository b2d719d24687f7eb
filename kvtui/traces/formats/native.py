"""kvtui's own workload format: one JSON object a line, a header first.

    {"kvtui_workload": 1, "name": "chat", "seed": 7, "about": "", "unit": 16, "max_len": 2048, "slots": null}
    {"at_ms": 12.345, "prompt": 120, "output": 300, "ids": [[0, 7], [31, 1]], "identified": 120}

`ids` holds runs [first, count] of consecutive chain ids and is left out where a request has none;
`identified` is left out where it is min(prompt, ids x unit). A row may have a `priority`, and `after`, the
line of the request that it follows, with `wait_ms` from that one's end. `unit`, `max_len` and `slots` may be
missing or null; `closed` says that requests with `after` are sent by that end and not at their `at_ms`. A row
may ask for `n` sequences sampled from its prompt, or for beam search with a `beam_width`. While traffic is
recorded there are lines `{"open_ms": 12.345}` too, one when a request comes; its row follows when it is over.
Of a trace that was `derived` the header says of what, and a line `heard` of how much.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TextIO, TypeGuard

import numpy as np

from kvtui.traces.chains import BlockIds, Chains
from kvtui.traces.columns import Columns
from kvtui.traces.draft import Draft
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, batches
from kvtui.traces.source import Source
from kvtui.traces.timeunits import MS
from kvtui.traces.workload import Ints, Workload

name = "kvtui"
title = "kvtui workload"

_VERSION = "kvtui_workload"
OPEN = "open_ms"  # of a line that only says that a request has come; its own follows when it is over
HEARD = "heard"  # of a line that tells what a trace was derived from
DERIVED = "derived"
KV_EVENTS = "kv events"
_SAID = (
    "Requests were derived from KV events: lengths are known to within a block{size}, arrivals are those of "
    "first blocks, and who stored no block is missing."
)
_MOST = 2**31 - 1  # ids and tokens a row


def matches(sample: Sample) -> bool:
    return not sample.tabular and bool(sample.records) and _VERSION in sample.records[0]


def read(source: Source, sample: Sample, options: Options) -> Workload:
    header = sample.records[0]
    if header[_VERSION] != 1:
        hint = "update kvtui, or write the workload again"
        raise source.error(f"workload format {header[_VERSION]!r} is not known here.", line=1, hint=hint)
    unit, max_len, slots = (_size(source, header, key) for key in ("unit", "max_len", "slots"))
    # A request without output is meant as a prefill here, not as a failure.
    draft = Draft(source, replace(options, keep_failed=True), Names("at_ms", "prompt", "output"))
    identity, followed = _Identity(source, unit or 0), _Followed()
    more: dict[str, list[object]] = {key: [] for key in ("priority", "n", "beam_width")}
    behind = 1  # the header
    for batch in batches(source):
        rows = batch.tail(behind).without(OPEN).without(HEARD)
        behind = 0
        kept = draft.add(
            rows.line,
            time=rows.column("at_ms"),
            prompt=rows.column("prompt"),
            output=rows.column("output"),
            broken=rows.broken,
        )
        for place in kept:
            identity.add(rows.records[place], int(rows.line[place]))
            for key, values in more.items():
                values.append(rows.records[place].get(key))
            followed.add(rows.records[place])
        if draft.full:
            break
    columns = draft.finish(unit=MS, sure=True)
    chains = identity.chains(columns) if unit else None
    named = str(header.get("name") or "")
    said = _derived(header, unit)
    workload = columns.workload(name, name=named, chains=chains, priority=more["priority"], assumed=said)
    samples, beams = (columns.urgency(more[key]) for key in ("n", "beam_width"))
    workload = replace(workload, max_len=max_len, slots=slots, samples=samples, beams=beams)
    return followed.joined(workload, closed=header.get("closed") is True, order=columns.order)


def _derived(header: Record, unit: int | None) -> list[str]:
    if header.get(DERIVED) != KV_EVENTS:
        return []
    return [_SAID.format(size=f" of {unit} tokens" if unit else "")]


class _Followed:
    """Which request each row kept follows, by line."""

    def __init__(self) -> None:
        self._after: list[int] = []
        self._waits: list[int] = []

    def add(self, row: Record) -> None:
        after, wait = row.get("after"), row.get("wait_ms")
        self._after.append(after if is_int(after, least=1) else 0)
        known = isinstance(wait, int | float) and 0 <= wait <= _MOST
        self._waits.append(round(float(wait or 0) * MS) if known else -1)

    def joined(self, workload: Workload, *, closed: bool, order: Ints) -> Workload:
        """Lines that are not there, or come later, are followed by none."""
        after, waits = (np.array(values, np.int64)[order] for values in (self._after, self._waits))
        lines = np.argsort(workload.line)
        found = np.searchsorted(workload.line[lines], after)
        place = lines[np.minimum(found, len(lines) - 1)]
        follows = np.where((workload.line[place] == after) & (place < np.arange(len(after))), place, -1)
        if (follows < 0).all():
            return workload
        known = not (waits[follows >= 0] < 0).any()
        return replace(workload, follows=follows, waits_ns=waits, closed=closed and known)


class _Identity:
    """Chain ids as the rows have them."""

    def __init__(self, source: Source, unit: int) -> None:
        self._source, self._unit = source, unit
        self._first: list[int] = []
        self._count: list[int] = []
        self._ids: list[int] = []  # of each row
        self._identified: list[int] = []  # -1 = as much of the prompt as the ids reach

    def add(self, row: Record, line: int) -> None:
        runs, identified = row.get("ids", []), row.get("identified", -1)
        if not are_runs(runs) or (runs and not self._unit) or not is_int(identified, least=-1):
            hint = 'ids are runs [first, count] and identified is a number of tokens; the header needs "unit"'
            raise self._source.error("these ids cannot be read.", line=line, hint=hint)
        self._first += [first for first, _ in runs]
        self._count += [count for _, count in runs]
        self._ids.append(sum(count for _, count in runs))
        self._identified.append(identified)

    def chains(self, columns: Columns) -> Chains:
        """For requests in order of arrival."""
        ids, unit = np.array(self._ids, np.int64), self._unit
        identified = np.array(self._identified, np.int64)[columns.order]
        reach = ids[columns.order] * unit
        identified = np.where(identified < 0, np.minimum(columns.prompt, reach), identified)
        wrong = (
            (identified > reach)
            | (identified <= reach - unit)
            | (identified > columns.prompt + columns.output)
        )
        if wrong.any():
            row = int(wrong.argmax())
            message = (
                f"{reach[row] // unit} ids of {unit} tokens cannot stand for {identified[row]:,} tokens."
            )
            hint = "the last id is that of the last identified token, of prompt or output"
            raise self._source.error(message, line=int(columns.line[row]), hint=hint)
        blocks = BlockIds()
        blocks.append(self._expanded(), ids)
        ordered, start = blocks.in_order(columns.order)
        return Chains(unit, ordered, start, identified)

    def _expanded(self) -> Ints:
        count = np.array(self._count, np.int64)
        begin = np.cumsum(count) - count
        return np.repeat(np.array(self._first, np.int64) - begin, count) + np.arange(count.sum())


def are_runs(value: object) -> bool:
    """Whether these are `ids` as a row has them."""
    return isinstance(value, list) and all(
        isinstance(run, list) and len(run) == 2 and is_int(run[0], least=0) and is_int(run[1], least=1)
        for run in value
    )


def is_int(value: object, *, least: int) -> TypeGuard[int]:
    """Whether it is a whole number that a row may have."""
    return type(value) is int and least <= value <= _MOST


def _size(source: Source, header: Record, key: str) -> int | None:
    value = header.get(key)
    if value is not None and not is_int(value, least=1):
        raise source.error(
            f"{key} cannot be {value!r}.", line=1, hint="give a whole number of tokens, or null"
        )
    return value


def write(workload: Workload, stream: TextIO, *, seed: int, about: str) -> None:
    """Write `workload` so that reading it gives the same columns (arrivals exact to the ns below 50 days)."""
    stream.write(header_line(workload, seed=seed, about=about))
    for index in range(len(workload)):
        stream.write(row_line(workload, index))


def header_line(workload: Workload, *, seed: int, about: str) -> str:
    """The first line."""
    values: dict[str, object] = {
        "kvtui_workload": 1,
        "name": workload.name,
        "seed": seed,
        "about": about,
        "unit": workload.unit or None,
        "max_len": workload.max_len,
        "slots": workload.slots,
    }
    if workload.closed:
        values["closed"] = True
    return json.dumps(values, ensure_ascii=False) + "\n"


def row_line(workload: Workload, index: int) -> str:
    """The line of one request."""
    prompt = int(workload.prompt[index])
    values: dict[str, object] = {
        "at_ms": int(workload.arrival_ns[index]) / 1e6,
        "prompt": prompt,
        "output": int(workload.output[index]),
    }
    if workload.unit:
        ids = workload.chain[workload.chain_start[index] : workload.chain_start[index + 1]]
        if len(ids):
            values["ids"] = _runs(ids)
        identified = int(workload.identified[index])
        if identified != min(prompt, len(ids) * workload.unit):
            values["identified"] = identified
    if workload.priority is not None:
        values["priority"] = int(workload.priority[index])
    for key, column in (("n", workload.samples), ("beam_width", workload.beams)):
        if column is not None and column[index] > 1:
            values[key] = int(column[index])
    if workload.follows is not None and workload.follows[index] >= 0:
        values["after"] = int(workload.follows[index]) + 2  # lines count from 1, the header's
        if workload.waits_ns is not None and workload.waits_ns[index] >= 0:
            values["wait_ms"] = int(workload.waits_ns[index]) / 1e6
    return json.dumps(values) + "\n"


def _runs(ids: Ints) -> list[list[int]]:
    """[first, count] of each run of consecutive ids."""
    cuts = np.flatnonzero(np.diff(ids) != 1) + 1
    first = np.concatenate(([0], cuts))
    count = np.diff(np.concatenate((first, [len(ids)])))
    return [[int(a), int(b)] for a, b in zip(ids[first], count, strict=True)]
