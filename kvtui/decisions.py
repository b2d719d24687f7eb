"""Recorded decisions: the engine's own, in the format in which the real vLLM scheduler's are recorded.

A configuration (JSON) and a trace whose arrivals are steps (JSON Lines) come in, one JSON object a step goes
out: what was scheduled, block ids, evictions, a digest of the free queue, published usage and counters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from kvtui.engine import Engine
from kvtui.errors import ConfigError, TraceError
from kvtui.memory.ops import OpKind, OpLog
from kvtui.memory.paged import PagedMemoryManager
from kvtui.plan import Plan, PrefixCounters
from kvtui.request import Request
from kvtui.rules import NEWEST, Rules, release
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_NS

STEP = 1_000  # ps a step takes: time and step number are the same thing here
Token = tuple[str, int]
NOT_RULES = {
    "num_gpu_blocks",
    "block_size",
    "enable_prefix_caching",
    "hash_id_block",
    "record_free_queue",
    "max_steps",
    "comment",
}


class StepClock:
    """Every step takes the same time."""

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        return STEP

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        return STEP * steps


@dataclass(frozen=True, slots=True)
class Row:
    """One request of a decision trace (a child, where `n` asks for several)."""

    id: str
    source: dict[str, Any]
    tokens: list[Token]
    outputs: list[Token]
    line: int


def rows_of(lines: Sequence[dict[str, Any]], config: dict[str, Any]) -> list[Row]:
    """The requests in order of arrival."""
    rows = []
    for number, source in enumerate(lines):
        n = source.get("n", 1)
        ids = [source["id"]] if n == 1 else [f"{k}_{source['id']}" for k in range(n)]
        tokens = _prompt(source, config)
        rows += [Row(id, source, tokens, _outputs(id, source), number) for id in ids]
    return sorted(rows, key=lambda row: row.source["arrival_step"])


def _prompt(source: dict[str, Any], config: dict[str, Any]) -> list[Token]:
    if "prompt_segments" in source:
        return [(name, k) for name, n in source["prompt_segments"] for k in range(n)]
    if "hash_ids" in source:
        per = config.get("hash_id_block") or config.get("block_size", 16)
        tokens = [(f"hash:{h}", k) for h in source["hash_ids"] for k in range(per)]
        return tokens[: source["prompt_tokens"]]
    if isinstance(source["prompt_tokens"], list):
        return [("literal", t) for t in source["prompt_tokens"]]
    return [(f"req:{source['id']}", k) for k in range(source["prompt_tokens"])]


def _outputs(id: str, source: dict[str, Any]) -> list[Token]:
    count = source["output_tokens"]
    explicit = source.get("output_token_ids")
    tokens = (
        [("literal", t) for t in explicit[:count]] if explicit else [(f"out:{id}", p) for p in range(count)]
    )
    if source.get("max_tokens", count) > count:
        tokens[count - 1] = ("end of sequence", 0)
    return tokens


def workload_of(rows: Sequence[Row], block_size: int) -> Workload:
    """The rows as columns; equal prefixes of blocks, generated tokens included, get equal chain ids."""
    ids: dict[tuple[object, ...], int] = {}
    chain: list[int] = []
    starts = [0]
    for row in rows:
        tokens = row.tokens + row.outputs
        parent: object = ("salt", row.source.get("cache_salt"))
        for at in range(0, len(tokens) - block_size + 1, block_size):
            parent = ids.setdefault((parent, *tokens[at : at + block_size]), len(ids))
            chain.append(parent)
        starts.append(len(chain))
    bounds = np.array(starts, np.int64)
    return Workload(
        name="decisions",
        format="decision trace",
        arrival_ns=np.array([r.source["arrival_step"] for r in rows], np.int64) * (STEP // PS_PER_NS),
        prompt=np.array([len(r.tokens) for r in rows], np.int64),
        output=np.array([r.source["output_tokens"] for r in rows], np.int64),
        line=np.array([r.line + 1 for r in rows], np.int64),
        priority=np.array([r.source.get("priority", 0) for r in rows], np.int64),
        unit=block_size,
        chain=np.array(chain, np.int64),
        chain_start=bounds,
        identified=(bounds[1:] - bounds[:-1]) * block_size,
    )


class DecisionLog:
    """An observer that turns every step into one line; `lines` holds those nobody fetched yet."""

    def __init__(self, rows: Sequence[Row], manager: PagedMemoryManager, *, free_queue: bool = False) -> None:
        self.lines: list[dict[str, Any]] = []
        self._rows = rows
        self._ids = [row.id for row in rows]
        self._manager = manager
        self._log = manager.log = OpLog()
        self._free_queue = free_queue
        self._head: dict[str, Any] = {}  # what happened before the next step
        self._line: dict[str, Any] = {}
        self._lengths: dict[int, int] = {}  # block tables after the last step
        self._counters = PrefixCounters()

    def arrived(self, engine: Engine, request: Request) -> None:
        self._note("added", request)

    def rejected(self, engine: Engine, request: Request) -> None:
        self._note("rejected", request)

    def aborted(self, engine: Engine, request: Request) -> None:
        self._note("aborted", request)

    def _note(self, what: str, request: Request) -> None:
        self._head.setdefault(what, []).append(self._ids[request.number])

    def idle(self, engine: Engine) -> None:
        if "aborted" in self._head or "rejected" in self._head:
            step = engine.now_ps // STEP
            self.lines.append({"step": step, **self._head, "scheduled": {}, "idle": True})
        self._head = {}

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        scheduler, name = engine.scheduler, self._ids
        tokens = {r: n for r, _, n in plan.prefill}
        hungry = set(plan.hungry)
        batch = [r for r in scheduler.running.values() if (r in tokens if r.chunking else r not in hungry)]
        hits = dict(plan.admitted)
        known = {r: 0 if r in hits else self._lengths[r.number] for r in batch}
        self._line = {
            "step": engine.now_ps // STEP,
            **self._head,
            "scheduled": {name[r.number]: tokens.get(r, 1) for r in batch},
            "new": [name[r.number] for r in hits if not r.preemptions],
            "resumed": [name[r.number] for r in hits if r.preemptions],
            "preempted": [name[victim.number] for victim, _, _ in plan.preempted],
            "computed": {name[r.number]: r.stored(plan.step) for r in batch},
            "hit": {name[r.number]: hit for r, hit in hits.items()},
            "blocks": {name[r.number]: len(r.table) for r in batch},
            "new_blocks": {name[r.number]: r.table[n:] for r, n in known.items() if r.table[n:]},
            "evicted": [b for op in self._log.drain() if op.kind is OpKind.EVICT for b in op.blocks],
            "running": [name[r.number] for r in scheduler.running.values()],
            "waiting": [name[r.number] for r in scheduler.waiting.first()],
            "free": self._manager.free_blocks,
            "usage": self._usage(),
        }
        self._head = {}

    def updated(self, engine: Engine, plan: Plan) -> None:
        scheduler, pool = engine.scheduler, self._manager.pool
        queue = pool.queue()
        held = {b for r in scheduler.running.values() for b in self._full_blocks(engine, r)}
        self._line["finished"] = {self._ids[r.number]: self._reason(r) for r in plan.finished}
        self._line["end"] = {
            "running": len(scheduler.running),
            "waiting": len(scheduler.waiting),
            "free": len(queue),
            "usage": self._usage(),
            "cached": pool.cached + len(held),
            "fq": hashlib.sha256(",".join(map(str, queue)).encode()).hexdigest()[:16],
        }
        if plan.answered:
            self._line["prefix"] = self._counted(scheduler.prefix)
        if self._free_queue:
            self._line["free_queue"] = queue
        if engine.stuck:
            stalled = [*scheduler.running.values(), *scheduler.waiting.first()]
            self._line["stalled"] = [self._ids[r.number] for r in stalled]
        self._lengths = {r.number: len(r.table) for r in scheduler.running.values()}
        self.lines.append(self._line)

    def _full_blocks(self, engine: Engine, request: Request) -> list[int]:
        if not self._manager.prefix_cache:
            return []
        stored = request.cached if engine.rules.async_scheduling else request.stored(engine.scheduler.step)
        return request.table[: stored // self._manager.block_size]

    def _reason(self, request: Request) -> str:
        source = self._rows[request.number].source
        asked = source.get("max_tokens", source["output_tokens"])
        return "stop" if asked > source["output_tokens"] == request.output else "length"

    def _usage(self) -> float:
        blocks = self._manager.blocks
        return 1.0 - self._manager.free_blocks / blocks if blocks else 0

    def _counted(self, now: PrefixCounters) -> dict[str, int]:
        """What the step added to the counters, zeros left out."""
        before, self._counters = asdict(self._counters), replace(now)
        return {name: n - before[name] for name, n in asdict(now).items() if n != before[name]}


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
    manager = PagedMemoryManager(
        (config["num_gpu_blocks"] - 1) * block_size,
        block_size,
        prefix_cache=config.get("enable_prefix_caching", True),
        lifo=rules.release.lifo,
    )
    engine = Engine(
        workload_of(rows, block_size),
        rules,
        manager,
        StepClock(),
        abort_at=_aborts(rows),
        prepare=_preparation(rows),
        refuse=False,
        until_ps=config.get("max_steps", 200_000) * STEP,
    )
    engine.observer = log = DecisionLog(rows, manager, free_queue=config.get("record_free_queue", False))
    return engine, log


def rules_of(config: dict[str, Any], vllm: str) -> Rules:
    """Scheduler options of a recorded configuration; its own defaults where it is silent."""
    known = {f.name for f in fields(Rules)} - {"release"}
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


def read_case(config: Path, trace: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A configuration and the rows of a trace, as recorded."""
    try:
        options = json.loads(config.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{config}: {error}") from None
    lines = []
    try:
        text = trace.read_text()
    except OSError as error:
        raise TraceError(error.strerror or str(error), path=str(trace)) from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                lines.append(json.loads(line))
            except ValueError as error:
                raise TraceError(f"not JSON: {error}", path=str(trace), line=number) from None
    return options, lines
