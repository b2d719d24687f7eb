"""Mooncake request traces and files of the same shape: JSON objects with block ids for whole prefixes."""

from __future__ import annotations

from kvtui.traces.blocks import identify, is_block_size
from kvtui.traces.chains import BlockIds
from kvtui.traces.draft import Draft
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Batch, batches
from kvtui.traces.source import Source
from kvtui.traces.timeunits import MS
from kvtui.traces.workload import Ints, Workload

name = "mooncake"
title = "Mooncake JSON Lines"

BLOCK = 512  # tokens a block in Mooncake's own traces
_TIME, _PROMPT, _OUTPUT, _IDS = "timestamp", "input_length", "output_length", "hash_ids"


def matches(sample: Sample) -> bool:
    if sample.tabular or not sample.has(_PROMPT, _OUTPUT) or sample.has("chat_id"):
        return False
    by_kind = any(
        isinstance(ids, dict) for ids in sample.column(_IDS)
    )  # other traces name ids by kind of text
    return not by_kind and (sample.has(_TIME) or sample.has(_IDS))


def read(source: Source, sample: Sample, options: Options) -> Workload:
    return read_hashed(source, sample, options, format=name, unit=MS, block=BLOCK)


def read_hashed(
    source: Source, sample: Sample, options: Options, *, format: str, unit: int, block: int
) -> Workload:
    """Read records with lengths and block ids; times usually count `unit` ns, blocks hold `block` tokens."""
    timed = sample.has(_TIME)
    draft, block_ids = Draft(source, options, Names(_TIME if timed else None, _PROMPT, _OUTPUT)), BlockIds()
    size: int | None = None
    for batch in batches(source):
        kept = draft.add(
            batch.line,
            time=batch.column(_TIME) if timed else None,
            prompt=batch.column(_PROMPT),
            output=batch.column(_OUTPUT),
            broken=batch.broken,
        )
        block_ids.add([batch.records[place].get(_IDS) for place in kept])
        size = _block_size(source, batch, kept, size)
        if draft.full:
            break
    columns = draft.finish(unit=unit)
    chains, said = identify(columns, block_ids, usual=block, given=options.block_size or size)
    return columns.workload(format, chains=chains, assumed=said)


def _block_size(source: Source, batch: Batch, kept: Ints, size: int | None) -> int | None:
    """The block size that records state, `size` being that of earlier ones."""
    for place in kept:
        stated = batch.records[place].get("block_size")
        if stated is None:
            continue
        if not is_block_size(stated) or stated != (size or stated):
            before = f" and {size} in the rows before" if size else ""
            message = f"block_size is {stated!r} here{before}."
            raise source.error(
                message, line=int(batch.line[place]), hint="a file has one block size, in tokens"
            )
        size = stated
    return size
