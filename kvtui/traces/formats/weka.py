"""Agent traces of kv-cache-tester: one object a conversation, sub-agents inside, ids of whole blocks only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvtui.traces.blocks import identify, is_block_size
from kvtui.traces.chains import BlockIds
from kvtui.traces.fields import BILLION, number
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.leftout import rows as counted
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, records
from kvtui.traces.source import Source
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "kv-cache-tester"
title = "kv-cache-tester agent trace"

BLOCK = 64  # tokens a block where the file does not say
_SIZE, _SCOPE = "block_size", "hash_id_scope"


def matches(sample: Sample) -> bool:
    found = (record.get("requests") for record in sample.records if _SCOPE in record or _SIZE in record)
    return not sample.tabular and any(isinstance(requests, list) for requests in found)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    block_ids, files = BlockIds(), _Conversations(source)
    columns = gather(
        source, options, Names("t", "in", "out"), files.rows(), unit=S, sure=True, keep=files.keep
    )
    files.hand_over(block_ids)
    given = options.block_size or files.size
    chains, said = identify(columns, block_ids, usual=BLOCK, given=given)
    if files.size and not options.block_size:
        said = [f"block ids stand for {files.size} tokens each, as the file says", *said[1:]]
    if files.count > 1:
        said.append(f"{counted(files.count, 'conversation')}, all from time 0")
    return columns.workload(name, chains=chains, assumed=said)


class _Conversations:
    """Requests of all conversations; their block ids, if of scope "local", mean nothing in another one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kept: list[tuple[int, object]] = []  # conversation (-1 = global scope) and ids of each row kept
        self.size: int | None = None
        self.count = 0

    def rows(self) -> Iterator[Row]:
        for line, record in records(self._source):
            if record is None or not isinstance(record.get("requests"), list):
                yield broken(line)
                continue
            self._take_size(record, line)
            scope = -1 if record.get(_SCOPE) == "global" else self.count
            self.count += 1
            for request, start in _flat(record["requests"], 0):
                time = _later(request.get("t"), start)
                yield Row(
                    line, time, request.get("in"), request.get("out"), more=(scope, request.get("hash_ids"))
                )

    def keep(self, row: Row) -> None:
        self._kept.append(row.more)

    def hand_over(self, block_ids: BlockIds) -> None:
        """Give the ids of the rows kept, conversation by conversation."""
        at = 0
        while at < len(self._kept):
            scope, end = self._kept[at][0], at
            while end < len(self._kept) and self._kept[end][0] == scope:
                end += 1
            block_ids.add([ids for _, ids in self._kept[at:end]], apart=scope >= 0)
            at = end

    def _take_size(self, record: Record, line: int) -> None:
        size = record.get(_SIZE)
        if size is None:
            return
        if not is_block_size(size) or size != (self.size or size):
            before = f" and {self.size} before" if self.size else ""
            hint = "all conversations of a file have one block size, in tokens"
            raise self._source.error(f"block_size is {size!r} here{before}.", line=line, hint=hint)
        self.size = size


def _flat(requests: list[Any], start: int) -> Iterator[tuple[dict[str, Any], int]]:
    """All requests, with the time their own clock starts at (ns): that of a sub-agent starts with it."""
    for request in requests:
        if not isinstance(request, dict):
            continue
        inner = request.get("requests")
        if isinstance(inner, list):
            whole, nano = number(request.get("t")) or (0, 0)
            yield from _flat(inner, start + whole * BILLION + nano)
        else:
            yield request, start


def _later(time: object, start: int) -> object:
    """`time` (s) after `start` (ns), exactly."""
    read = number(time)
    if not start or read is None:
        return time
    whole, nano = divmod(read[0] * BILLION + read[1] + start, BILLION)
    return f"{whole}.{nano:09}"
