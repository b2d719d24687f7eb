"""An observer that writes each step as one JSON object, in the format of recorded decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from kvtui.decisions.trace import STEP, Row
from kvtui.memory.group import Group
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.ops import OpKind, OpLog
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan, PrefixCounters
from kvtui.serving.request import Request
from kvtui.serving.speculation import SpecCounters

Manager = PagedMemoryManager | GroupedMemoryManager
Counters = PrefixCounters | SpecCounters


class DecisionLog:
    """An observer that turns every step into one line; `lines` holds those nobody fetched yet. Where layers
    are told apart (`layered`), the block tables of every group are written."""

    def __init__(
        self, rows: Sequence[Row], manager: Manager, *, layered: bool = False, free_queue: bool = False
    ) -> None:
        self.lines: list[dict[str, Any]] = []
        self._rows = rows
        self._ids = [row.id for row in rows]
        self._manager = manager
        self._log = manager.log = OpLog()
        self._free_queue = free_queue
        self._layered = layered
        self._told = not layered  # whether the groups were written
        self._head: dict[str, Any] = {}  # what happened before the next step
        self._line: dict[str, Any] = {}
        self._before: dict[int, list[list[int]]] = {}  # block tables after the last step
        self._prefix = PrefixCounters()
        self._spec = SpecCounters()

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
        self._line = {
            "step": engine.now_ps // STEP,
            **self._head,
            "scheduled": {name[r.number]: tokens.get(r, 1) for r in batch},
            "new": [name[r.number] for r in hits if not r.preemptions],
            "resumed": [name[r.number] for r in hits if r.preemptions],
            "preempted": [name[victim.number] for victim, _, _ in plan.preempted],
            "computed": {name[r.number]: r.stored(plan.step) for r in batch},
            "hit": {name[r.number]: hit for r, hit in hits.items()},
            **self._blocks(batch, hits),
            "evicted": [b for op in self._log.drain() if op.kind is OpKind.EVICT for b in op.blocks],
            "running": [name[r.number] for r in scheduler.running.values()],
            "waiting": [name[r.number] for r in scheduler.waiting.first()],
            "free": self._manager.free_blocks,
            "usage": self._usage(),
            **self._by_name("spec", plan.drafts, batch),
        }
        if padded := [name[r.number] for r in batch if r in hits and r in plan.drafts]:
            self._line["padded"] = padded
        self._head = {}

    def _blocks(self, batch: Sequence[Request], admitted: Container[Request]) -> dict[str, Any]:
        """Block tables of the batch and what changed in them."""
        pairs = {}
        for request in batch:
            now = request.all_tables
            was = [[] for _ in now] if request in admitted else self._before[request.number]
            pairs[self._ids[request.number]] = list(zip(now, was, strict=True))
        lengths = {id: [len(t) for t, _ in pair] for id, pair in pairs.items()}
        new = {id: [t[len(o) :] for t, o in pair] for id, pair in pairs.items()}
        new = {id: added for id, added in new.items() if any(added)}
        if not self._layered:
            return {
                "blocks": {id: n for id, (n,) in lengths.items()},
                "new_blocks": {id: ids for id, (ids,) in new.items()},
            }
        gone = {
            id: [[at for at, block in enumerate(o) if block and not t[at]] for t, o in pair]
            for id, pair in pairs.items()
        }
        tables = {id: [list(t) for t, _ in pair] for id, pair in pairs.items()}
        nulled = {id: lost for id, lost in gone.items() if any(lost)}
        line = {"blocks": lengths, "new_blocks": new, "tables": tables}
        return {**line, "nulled": nulled} if nulled else line

    def _by_name(
        self, field: str, numbers: Mapping[Request, int], order: Iterable[Request]
    ) -> dict[str, dict[str, int]]:
        """A field with a number for each of the requests that have one; no field if nobody has."""
        line = {self._ids[r.number]: numbers[r] for r in order if r in numbers}
        return {field: line} if line else {}

    def updated(self, engine: Engine, plan: Plan) -> None:
        scheduler, pool = engine.scheduler, self._manager.pool
        queue = pool.queue()
        self._line["finished"] = {self._ids[r.number]: self._reason(r) for r in plan.finished}
        self._line["end"] = {
            "running": len(scheduler.running),
            "waiting": len(scheduler.waiting),
            "free": len(queue),
            "usage": self._usage(),
            "cached": self._cached(engine),
            "fq": hashlib.sha256(",".join(map(str, queue)).encode()).hexdigest()[:16],
        }
        if plan.answered:
            self._line["prefix"] = _growth(self._prefix, scheduler.prefix)
            self._prefix = replace(scheduler.prefix)
            self._line |= self._drafting(engine, plan)
        if self._free_queue:
            self._line["free_queue"] = queue
        if engine.stuck:
            stalled = [*scheduler.running.values(), *scheduler.waiting.first()]
            self._line["stalled"] = [self._ids[r.number] for r in stalled]
        if not self._told and isinstance(self._manager, GroupedMemoryManager):
            self._line["groups"] = list(map(_described, self._manager.groups))
            self._told = True
        self._before = {r.number: list(map(list, r.all_tables)) for r in scheduler.running.values()}
        self.lines.append(self._line)

    def _drafting(self, engine: Engine, plan: Plan) -> dict[str, dict[str, int]]:
        """What became of drafts in this step, and those that wait to be verified."""
        running = engine.scheduler.running.values()
        verified = _growth(self._spec, engine.scheduler.spec)
        if verified:
            self._spec = replace(engine.scheduler.spec)
            verified = dict.fromkeys(asdict(self._spec), 0) | verified
        return {
            **self._by_name("emitted", plan.emitted, plan.emitted),
            **self._by_name("rejected_drafts", plan.rejected, plan.rejected),
            **self._by_name("drafted", {r: r.drafts for r in running if r.drafts}, running),
            **({"spec_stats": verified} if verified else {}),
        }

    def _cached(self, engine: Engine) -> int:
        """Blocks with content that can be found."""
        manager = self._manager
        if isinstance(manager, GroupedMemoryManager):
            return manager.pool.named
        if not manager.prefix_cache:
            return manager.pool.cached
        held = set()
        for request in engine.scheduler.running.values():
            explicit = engine.rules.explicit
            stored = request.cached if explicit else request.stored(engine.scheduler.step)
            held.update(request.table[: stored // manager.block_size])
        return manager.pool.cached + len(held)

    def _reason(self, request: Request) -> str:
        source = self._rows[request.number].source
        asked = source.get("max_tokens", source["output_tokens"])
        return "stop" if asked > source["output_tokens"] == request.output else "length"

    def _usage(self) -> float:
        blocks = self._manager.blocks
        return 1.0 - self._manager.free_blocks / blocks if blocks else 0


def _growth(before: Counters, now: Counters) -> dict[str, int]:
    """What was added to counters, zeros left out."""
    old = asdict(before)
    return {name: n - old[name] for name, n in asdict(now).items() if n != old[name]}


def _described(group: Group) -> list[Any]:
    return [group.name, group.window, group.size, len(group.layers), group.drafter]
