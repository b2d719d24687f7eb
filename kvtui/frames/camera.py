"""The camera of a lane: an observer that notes events and takes frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from kvtui.frames.batchtable import held, running_table
from kvtui.frames.cells import mirror_of
from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counters import CounterReader
from kvtui.frames.frame import Event, EventKind, Frame, RunningRow
from kvtui.frames.queuetable import QueueTable
from kvtui.frames.rows import Numbers, Rows, WaitingAt
from kvtui.frames.slo import NO_LIMITS, Slo
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.ops import Op, OpKind, OpLog
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.serving.tally import chunks, same_step_hits
from kvtui.units import PS_PER_S, seconds

EVENTS = 500  # kept
POINTS = 512  # of the batch history, before every second one is dropped
PS_PER_MS = PS_PER_S // 1000
Manager = PagedMemoryManager | GroupedMemoryManager | ContiguousMemoryManager


class Camera:
    """Watches an engine from its start; `frame()` is a picture of now, at a cost of what is on it."""

    def __init__(self, engine: Engine, manager: Manager, slo: Slo = NO_LIMITS) -> None:
        self._engine = engine
        self._manager = manager
        self._log = manager.log = OpLog()
        self._mirror = mirror_of(manager)
        self._counters = CounterReader(engine, slo)
        self._events: deque[Event] = deque(maxlen=EVENTS)
        self._batch: list[tuple[float, int]] = [(0.0, 0)]
        self._line = QueueTable()
        self._rows = 0  # of the queue that anybody has ever asked for
        self._ops: list[Op] = []  # since the last frame
        self._copied: tuple[int, ...] = ()
        self._forgotten = 0  # evicted blocks that others could have met, up to the last step
        self._start = 0  # ps, of the step that is being done
        self._queue = False  # whether somebody waited after the last step
        self._first = 0 if isinstance(manager, ContiguousMemoryManager) else 1  # id of the first block
        self.chronicle = Chronicle(engine.keys_of)
        engine.observer = self

    def inherit(self, other: Camera, restarted: Sequence[Request]) -> None:
        """Go on in the story of another camera; its blocks are not those of this lane."""
        step, now = self._engine.scheduler.step, self._engine.now_ps
        self._events, self._batch, self._queue = other._events, other._batch, other._queue
        self.chronicle.inherit(other.chronicle, step, arrived=self._engine.known)
        self.chronicle.note((step, now, EventKind.RESTARTED, r.number, r.known, 0) for r in restarted)

    # ---- watching

    def arrived(self, engine: Engine, request: Request) -> None:
        step = engine.scheduler.step + 1
        what = step, request.arrival, EventKind.ARRIVED, request.number, request.prompt, request.output
        self.chronicle.arrival(engine.known, what)

    def idle(self, engine: Engine) -> None:
        pass

    def aborted(self, engine: Engine, request: Request) -> None:
        pass

    def rejected(self, engine: Engine, request: Request) -> None:
        refusal = engine.results.refusals[request.number]
        self._note(engine.now_ps, EventKind.REJECTED, request, *refusal)
        step = engine.scheduler.step + 1
        what = step, engine.now_ps, EventKind.REJECTED, request.number, *refusal
        self.chronicle.arrival(engine.known, what)

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        now = engine.now_ps
        ops = self._log.drain()
        self._ops += ops
        for kind, request, a, b in self._planned(plan):
            self._note(now, kind, request, a, b)
        for request, start, tokens in chunks(plan):
            self._note(now, EventKind.CHUNK, request, tokens, start)
        if self._manager.forgotten > self._forgotten:
            lost, taker = self._manager.forgotten - self._forgotten, _evictor(ops)
            self._events.append(Event(seconds(now), plan.step, EventKind.EVICTED, taker, lost, taker))
            self._forgotten = self._manager.forgotten
            if self.chronicle.new(plan.step + 1):
                self.chronicle.note([(plan.step + 1, now, EventKind.EVICTED, taker, lost, taker)])
        self._copied = tuple(op.blocks[1] - self._first for op in ops if op.kind is OpKind.COPY)
        self._chronicle_plan(plan, ops)

    def _planned(self, plan: Plan) -> Iterator[tuple[EventKind, Request, int, int]]:
        """Who has to go and who may come."""
        for victim, served, blocks in plan.preempted:
            kind = EventKind.SWAPPED if victim in plan.swapped else EventKind.PREEMPTED
            yield kind, victim, blocks, served.number
        for request, tokens in plan.returned:
            yield EventKind.ADMITTED, request, tokens, self._held(request) // self._manager.block_size
        for request, hit in plan.admitted:
            if hit:
                yield EventKind.HIT, request, hit, request.known
            blocks = self._held(request) // self._manager.block_size
            yield EventKind.ADMITTED, request, request.known - hit, blocks
        for request, found in same_step_hits(plan.prefill, plan.admitted, self._manager.block_size):
            yield EventKind.SAME_STEP_HIT, request, found, request.known

    def _chronicle_plan(self, plan: Plan, ops: list[Op]) -> None:
        engine, chronicle = self._engine, self.chronicle
        waiting, before = engine.scheduler.waiting, self._queue
        self._queue, self._start = bool(waiting), engine.now_ps
        step, now = engine.scheduler.step, engine.now_ps
        if not chronicle.new(step):
            return
        notes = [(kind, request.number, a, b) for kind, request, a, b in self._planned(plan)]
        notes += [
            (EventKind.CHUNK, request.number, tokens, start)
            for request, start, tokens in plan.prefill
            if start + 1 < request.known  # else it verifies a draft
        ]
        for op in ops:
            if op.kind is OpKind.COPY:
                source, target = (block - self._first for block in op.blocks)
                notes.append((EventKind.COPIED, op.owner, source, target))
        if self._queue and not before:
            notes.append((EventKind.QUEUE, waiting.head().number, len(waiting), 0))
        chronicle.note((step, now, *note) for note in notes)
        chronicle.log(step, now, ops, first=self._first)

    def updated(self, engine: Engine, plan: Plan) -> None:
        now = engine.now_ps
        ops = self._log.drain()
        self._ops += ops
        self._chronicle_results(plan, ops)
        for request in plan.finished:
            self._note(
                now, EventKind.FINISHED, request, request.generated, (now - request.arrival) // PS_PER_MS
            )
        running = engine.scheduler.batch
        if running != self._batch[-1][1]:
            self._batch.append((seconds(now), running))
            if len(self._batch) > POINTS:
                self._batch = self._batch[::2]

    def _chronicle_results(self, plan: Plan, ops: list[Op]) -> None:
        step, now, chronicle = self._engine.scheduler.step, self._engine.now_ps, self.chronicle
        if not chronicle.new(step):
            return
        for kind, requests in (
            (EventKind.FIRST_TOKEN, plan.first_tokens),
            (EventKind.FINISHED, plan.finished),
        ):
            took = ((r, (now - r.arrival) // PS_PER_MS) for r in requests)
            chronicle.note((step, now, kind, r.number, r.generated, ms) for r, ms in took)
        chronicle.log(step, now, ops, first=self._first)
        chronicle.steps.extend([(step, self._start, now, plan.steps, plan.decodes, plan.prefill_tokens)])
        chronicle.close(step)

    def _note(self, now: int, kind: EventKind, request: Request, a: int, b: int) -> None:
        self._events.append(Event(seconds(now), self._engine.scheduler.step, kind, request.number, a, b))

    # ---- taking a picture

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        """What the lane shows now; at most `rows` waiting and running requests and `events` events."""
        engine, scheduler = self._engine, self._engine.scheduler
        self._mirror.apply(self._ops)
        self._ops.clear()
        waiting = scheduler.waiting
        wanted = waiting.head() if waiting else None
        running = scheduler.batch
        now = seconds(engine.now_ps)
        return Frame(
            step=scheduler.step,
            time_s=now,
            done=engine.done,
            counters=self._counters.read(),
            cells=self._mirror.cells([*scheduler.running.values(), *scheduler.aside], wanted, scheduler.step),
            waiting=Rows(self._waiting_table(rows), WaitingAt(engine.now_ps)),
            running=Rows(running_table(scheduler, self._manager.block_size)[:rows], RunningRow._make),
            events=tuple(islice(reversed(self._events), events)),
            batch=(*self._batch, (now, running)),
            mean_filled=scheduler.stored / running if running else 0.0,
            copied=self._copied,
        )

    def _waiting_table(self, rows: int) -> Numbers:
        """Those who wait, in the order in which they will be admitted."""
        self._rows = most = max(self._rows, rows)
        scheduler = self._engine.scheduler
        away = (r for r in scheduler.aside if r.phase is Phase.PREEMPTED)
        line = islice(chain(away, scheduler.waiting.first(most)), most)
        return self._line.read(line, scheduler.preemptions)[:rows]

    def _held(self, request: Request) -> int:
        return held(request, self._manager.block_size)


def _evictor(ops: list[Op]) -> int:
    """The first request of a step that took blocks which were cached."""
    evicted = False
    for op in ops:
        evicted = evicted or op.kind is OpKind.EVICT
        if evicted and op.kind is OpKind.TAKE:
            return op.owner
    raise AssertionError("an eviction without a taker")
