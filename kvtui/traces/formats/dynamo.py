"""Request traces of NVIDIA Dynamo (dynamo.request.trace.v1)."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.traces.blocks import identify, is_block_size
from kvtui.traces.chains import BlockIds
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import inside, records
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.timeunits import MS
from kvtui.traces.workload import Workload

name = "dynamo"
title = "Dynamo request trace"

BLOCK = 16  # tokens a block where the trace does not say
_SCHEMA = "dynamo.request.trace"
_TIME, _PROMPT, _OUTPUT = "request_received_ms", "input_tokens", "output_tokens"


def matches(sample: Sample) -> bool:
    return not sample.tabular and any(str(schema).startswith(_SCHEMA) for schema in sample.column("schema"))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    sessions, block_ids, sizes = Sessions(), BlockIds(), set[int]()

    def keep(row: Row) -> None:
        session, ids, size = row.more
        sessions.add([session])
        block_ids.add([ids])
        if is_block_size(size):
            sizes.add(size)
        if len(sizes) > 1:
            sizes_here = " and ".join(map(str, sorted(sizes)))
            message = f"trace_block_size is {size} here, but the file has {sizes_here}."
            raise source.error(message, line=row.line, hint="a file has one block size, in tokens")

    names = Names(_TIME, _PROMPT, _OUTPUT)
    columns = gather(source, options, names, _rows(source), unit=MS, sure=True, keep=keep)
    given = options.block_size or next(iter(sizes), None)
    chains, said = identify(columns, block_ids, usual=BLOCK, given=given)
    if chains is None:
        return sessions.workload(columns, name)
    return sessions.joined(columns.workload(name, chains=chains, assumed=said), columns)


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        request, replay = inside(record, "request"), inside(record, "request", "replay")
        session = inside(record, "agent_context", "session_id")
        prompt = inside(request, _PROMPT)
        more = (session, inside(replay, "input_sequence_hashes"), inside(replay, "trace_block_size"))
        yield Row(
            line,
            inside(request, _TIME),
            inside(replay, "input_length") if prompt is None else prompt,
            inside(request, _OUTPUT),
            why="" if record.get("event_type", "request_end") == "request_end" else "another kind of event",
            more=more,
        )
