"""Workloads written in the formats of other tools, and what each of them cannot hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple, TextIO

import numpy as np

from kvtui.errors import ConfigError
from kvtui.traces.formats import native
from kvtui.traces.timeunits import MS, S
from kvtui.traces.workload import Ints, Workload

_PLAIN_UNIT = 16  # tokens a block id stands for where the workload has no identity and the format wants ids
_DATED_NS = 946_684_800 * S  # 2000-01-01: an earlier start is no date
_FIRST_DAY_NS = 1_704_067_200 * S  # 2024-01-01, for traces whose clock starts at 0


class Format(NamedTuple):
    """A format that can be written: its lines, whether it holds prefix identity, and what to do with it."""

    about: str
    lines: Callable[[Workload], Iterator[str]]
    identity: bool
    usage: str = ""


def convert(workload: Workload, stream: TextIO, *, to: str) -> list[str]:
    """Write `workload` as `to`, a key of FORMATS; returns a sentence for each thing that is lost.

    Arrivals stay exact to the nanosecond (in Mooncake's milliseconds below 50 days), lengths always, prefix
    identity up to the end of the prompt. Raises ConfigError for an unknown format.
    """
    if to not in FORMATS:
        raise ConfigError(f"there is no format '{to}' to write.", hint=f"choose one of {', '.join(FORMATS)}")
    stream.writelines(FORMATS[to].lines(workload))
    return list(_lost(workload, to))


def _lost(workload: Workload, to: str) -> Iterator[str]:
    if to == native.name:
        return
    if workload.unit and not FORMATS[to].identity:
        yield "prefix identity is lost: this format has lengths and times only"
    if workload.unit and FORMATS[to].identity and (workload.identified > workload.prompt).any():
        yield "which generated tokens a later prompt goes on with is kept only in that prompt's own ids"
    if workload.priority is not None and not FORMATS[to].identity:
        yield "priorities are lost"
    if workload.follows is not None:
        yield "which turn follows which, and after what wait, is lost"
    if workload.samples is not None or workload.beams is not None:
        yield "numbers of samples and beams are lost"
    if workload.max_len or workload.slots:
        yield "the maximum length and the pool the workload is meant for are lost"


def _native(workload: Workload) -> Iterator[str]:
    yield native.header_line(workload, seed=0, about="")
    for index in range(len(workload)):
        yield native.row_line(workload, index)


def _mooncake(workload: Workload) -> Iterator[str]:
    yield from _hashed(workload, all_named=False)


def _timed_trace(workload: Workload) -> Iterator[str]:
    yield from _hashed(workload, all_named=True)


def _hashed(workload: Workload, *, all_named: bool) -> Iterator[str]:
    """Rows with an id for every block of the prompt, those that nothing shares included."""
    unit = workload.unit or _PLAIN_UNIT
    fresh = int(workload.chain.max(initial=-1)) + 1
    for index in range(len(workload)):
        prompt = int(workload.prompt[index])
        row: dict[str, object] = {
            "timestamp": _number(int(workload.arrival_ns[index]), MS),
            "input_length": prompt,
            "output_length": int(workload.output[index]),
        }
        if workload.unit or all_named:
            ids = _known(workload, index).tolist() if workload.unit else []
            missing = -(-prompt // unit) - len(ids)
            row |= {"block_size": unit, "hash_ids": [*ids, *range(fresh, fresh + missing)]}
            fresh += missing
        if workload.priority is not None:
            row["priority"] = int(workload.priority[index])
        yield json.dumps(row) + "\n"


def _known(workload: Workload, index: int) -> Ints:
    """Ids of the blocks of the prompt; the partial last one's only where nothing generated is in it."""
    prompt, identified = int(workload.prompt[index]), int(workload.identified[index])
    ids = workload.chain[workload.chain_start[index] : workload.chain_start[index + 1]]
    return ids if identified == prompt else ids[: min(prompt, identified) // workload.unit]


def _azure(workload: Workload) -> Iterator[str]:
    yield "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    start = workload.origin_ns if workload.origin_ns >= _DATED_NS else _FIRST_DAY_NS
    times = start + workload.arrival_ns
    dates = times.astype("datetime64[ns]")
    texts = np.datetime_as_string(dates, unit="ns" if (times % 1000).any() else "us")
    for time, prompt, output in zip(texts, workload.prompt.tolist(), workload.output.tolist(), strict=True):
        yield f"{str(time).replace('T', ' ')}+00:00,{prompt},{output}\n"


def _burstgpt(workload: Workload) -> Iterator[str]:
    yield "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    columns = (workload.arrival_ns.tolist(), workload.prompt.tolist(), workload.output.tolist())
    for ns, prompt, output in zip(*columns, strict=True):
        yield f"{_decimal(ns)},,{prompt},{output},{prompt + output},API log\n"


def _number(ns: int, unit: int) -> int | float:
    return ns // unit if ns % unit == 0 else ns / unit


def _decimal(ns: int) -> str:
    """Seconds, exactly."""
    whole, rest = divmod(ns, S)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


_REPLAY = (
    "vllm bench serve --dataset-name timed_trace --dataset-path {path} --self-timed --ignore-eos "
    "--timed-trace-chunk-hash-size {unit} --timed-trace-sec-multiplier 0.001"
)

FORMATS = {
    native.name: Format("kvtui's own: everything", _native, identity=True),
    "mooncake": Format("Mooncake JSON Lines: times, lengths, block ids", _mooncake, identity=True),
    "vllm": Format(
        "JSON Lines for vllm bench serve (timed_trace)", _timed_trace, identity=True, usage=_REPLAY
    ),
    "azure": Format("Azure CSV: times and lengths", _azure, identity=False),
    "burstgpt": Format("BurstGPT CSV: times and lengths", _burstgpt, identity=False),
}


def usage(workload: Workload, *, to: str, path: str) -> str:
    """The command that replays the written file, where the format is that of one tool; else ""."""
    return FORMATS[to].usage.format(path=path, unit=workload.unit or _PLAIN_UNIT)


def anonymous(workload: Workload) -> Workload:
    """Lengths, times and prefix identity alone: ids numbered as they come, the clock from 0, no names."""
    chain = workload.chain
    if len(chain):
        _, first, inverse = np.unique(chain, return_index=True, return_inverse=True)
        chain = np.argsort(np.argsort(first))[inverse].astype(np.int64)
    return Workload(
        name="trace",
        format=native.name,
        arrival_ns=workload.arrival_ns,
        prompt=workload.prompt,
        output=workload.output,
        line=np.zeros(len(workload), np.int64),
        priority=workload.priority,
        samples=workload.samples,
        beams=workload.beams,
        unit=workload.unit,
        chain=chain,
        chain_start=workload.chain_start,
        identified=workload.identified,
        follows=workload.follows,
        waits_ns=workload.waits_ns,
        closed=workload.closed,
    )
