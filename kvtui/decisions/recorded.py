"""Recorded decisions: the engine's own, in the format in which the real vLLM scheduler's are recorded.

A configuration (JSON) and a trace whose arrivals are steps (JSON Lines) come in, one JSON object a step goes
out: what was scheduled, block ids, evictions, a digest of the free queue, published usage and counters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kvtui.decisions.log import DecisionLog, Manager
from kvtui.decisions.trace import STEP, Row, Script, rows_of, workload_of
from kvtui.errors import ConfigError, TraceError
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.groups import ONE_FULL_LAYER
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.request import Request
from kvtui.serving.rules import NEWEST, Rules, release

_NEEDED = {"id", "arrival_step", "output_tokens"}
NOT_RULES = {
    "num_gpu_blocks",
    "block_size",
    "enable_prefix_caching",
    "hash_id_block",
    "record_free_queue",
    "max_steps",
    "comment",
    "layers",
    "kv_cache_layout",
    "prefix_cache_retention_interval",
}


class StepClock:
    """Every step takes the same time."""

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        return STEP

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        return STEP * steps


def decide(
    config: dict[str, Any], lines: Sequence[dict[str, Any]], *, vllm: str = NEWEST, steps_a_call: int = 1
) -> Iterator[dict[str, Any]]:
    """Replay a decision trace; yields one line a step."""
    engine, log = prepare(config, lines, vllm=vllm)
    while engine.step(steps_a_call):
        yield from log.lines
        log.lines.clear()
    yield from log.lines


def prepare(
    config: dict[str, Any], lines: Sequence[dict[str, Any]], *, vllm: str = NEWEST
) -> tuple[Engine, DecisionLog]:
    """The engine of a recorded configuration and the observer that writes its decisions."""
    rules = rules_of(config, vllm)
    block_size = config.get("block_size", 16)
    rows = rows_of(lines, config)
    manager = _manager(config, rules, block_size)
    engine = Engine(
        workload_of(rows, 1 if rules.speculation.keyed_ahead else block_size),
        rules,
        manager,
        StepClock(),
        abort_at=_aborts(rows),
        prepare=_preparation(rows),
        refuse=False,
        until_ps=config.get("max_steps", 200_000) * STEP,
        drafter=Script(rows),
    )
    engine.observer = log = DecisionLog(
        rows,
        manager,
        layered=config.get("layers") is not None,
        free_queue=config.get("record_free_queue", False),
    )
    return engine, log


def _manager(config: dict[str, Any], rules: Rules, block_size: int) -> Manager:
    slots = (config["num_gpu_blocks"] - 1) * block_size
    prefix_cache = config.get("enable_prefix_caching", True)
    layers = config.get("layers")
    if layers is None and rules.spec_method is None:
        return PagedMemoryManager(slots, block_size, prefix_cache=prefix_cache, lifo=rules.release.lifo)
    return GroupedMemoryManager(
        slots,
        block_size,
        rules,
        layers=ONE_FULL_LAYER if layers is None else layers,
        prefix_cache=prefix_cache,
        retention_interval=config.get("prefix_cache_retention_interval", 0),
    )


def rules_of(config: dict[str, Any], vllm: str) -> Rules:
    """Scheduler options of a recorded configuration; its own defaults where it is silent."""
    known = {f.name for f in fields(Rules)} - {"release", "acceptance"}
    unknown = set(config) - known - NOT_RULES
    if unknown:
        raise ConfigError(f"unknown option {sorted(unknown)[0]!r} in the configuration")
    options = {"max_num_seqs": 128, "max_model_len": 4096} | {k: v for k, v in config.items() if k in known}
    return Rules(release=release(vllm), **options)


def _aborts(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """(ps, request number) of the clients that go away, in the order of the file within a step."""
    due = [
        (row.source["abort_step"] * STEP, row.line, n)
        for n, row in enumerate(rows)
        if "abort_step" in row.source
    ]
    return [(time, number) for time, _, number in sorted(due)]


def _preparation(rows: Sequence[Row]) -> Callable[[Request], None]:
    times = [row.source.get("arrival_time", row.source["arrival_step"] + 1e-6 * row.line) for row in rows]
    rank = {time: at for at, time in enumerate(sorted(set(times)))}
    tie = {id: at for at, id in enumerate(sorted(row.id for row in rows))}

    def set_what_columns_lack(request: Request) -> None:
        row = rows[request.number]
        request.rank = rank[times[request.number]]
        request.tie = tie[row.id]
        request.max_tokens = row.source.get("max_tokens", row.source["output_tokens"])
        request.skip_lookup = bool(row.source.get("skip_reading_prefix_cache"))

    return set_what_columns_lack


def _check_options(options: object, config: Path) -> None:
    if not isinstance(options, dict):
        raise ConfigError(
            f"{config}: a configuration is one JSON object", hint='for example {"num_gpu_blocks": 513}'
        )
    for name in ("num_gpu_blocks", "block_size", "max_num_seqs", "max_num_batched_tokens", "max_model_len"):
        value = options.get(name)
        if value is None and name != "num_gpu_blocks":
            continue
        if type(value) is not int or value < 1:
            raise ConfigError(f"{config}: {name} is {value!r}", hint="give a whole number above 0")


def read_case(config: Path, trace: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A configuration and the rows of a trace, as recorded."""
    try:
        options = json.loads(config.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{config}: {error}") from None
    _check_options(options, config)
    lines = []
    try:
        text = trace.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "this is not text"
        raise TraceError(reason, path=str(trace)) from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise TraceError(f"not JSON: {error}", path=str(trace), line=number) from None
            lacking = sorted(_NEEDED - set(row)) if isinstance(row, dict) else ["id"]
            if lacking or not all(type(row[key]) is int and row[key] >= 0 for key in _NEEDED - {"id"}):
                what = f"no {lacking[0]!r}" if lacking else "a count that is no whole number"
                hint = "a decision trace has id, arrival_step, output_tokens and a prompt in every row"
                raise TraceError(f"{what} in this row.", path=str(trace), line=number, hint=hint)
            lines.append(row)
    return options, lines
