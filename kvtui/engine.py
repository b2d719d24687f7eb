"""One lane's engine: the clock, arrivals in, the scheduler's steps, and what is measured of them.

Synchronous, pure and deterministic: no wall clock, no randomness, no coroutine. `step()` does one scheduler
step or, with a higher limit, leaps over as many steps without a decision; both give the same run.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Protocol

from kvtui.closedloop import ClosedLoop, Turns
from kvtui.cost import CostModel
from kvtui.explicit import ExplicitScheduler
from kvtui.intake import Arrival, Arrivals, BlockKeys, request_of
from kvtui.measured import StepClock
from kvtui.memory.protocol import MemoryManager
from kvtui.meter import Meter
from kvtui.plan import Plan
from kvtui.request import Phase, Request
from kvtui.rules import Rules
from kvtui.scheduler import Scheduler
from kvtui.speculation import DraftModel
from kvtui.traces.workload import Workload

UNLIMITED = 1 << 60
NEVER = 1 << 80  # ps
PATIENCE = 3  # steps that do nothing, with nothing to come, before a run counts as stuck


class Observer(Protocol):
    """Sees every step. Calls must not change anything."""

    def arrived(self, engine: Engine, request: Request) -> None:
        """The request stands in the queue."""
        ...

    def rejected(self, engine: Engine, request: Request) -> None:
        """The request can never be served (see `Engine.refusals`)."""
        ...

    def aborted(self, engine: Engine, request: Request) -> None:
        """The client of a live request went away."""
        ...

    def idle(self, engine: Engine) -> None:
        """Nothing runs or waits; time jumps to the next arrival, if there is one."""
        ...

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        """Everything is decided, nothing has ended yet; `engine.now_ps` is the start of the step."""
        ...

    def updated(self, engine: Engine, plan: Plan) -> None:
        """Tokens have appeared and requests have ended; `engine.now_ps` is the end of the step."""
        ...


class Results:
    """What became of each request, by number, and the latencies in the order in which they became known."""

    def __init__(self, requests: int) -> None:
        self.first_token = array("q", [-1]) * requests  # ps; -1 = not (yet)
        self.finish = array("q", [-1]) * requests
        self.refusals: dict[int, tuple[int, int]] = {}  # number -> (needed, there are)
        self.aborted: set[int] = set()
        self.finished = 0
        self.output_tokens = 0  # generated so far, by whomever
        self.ttft = array("q")  # ps from arrival to the first token
        self.e2e = array("q")  # ps from arrival to the last token
        self.tpot = array("d")  # ps a token after the first, of requests with two tokens and more

    def first(self, request: Request, now: int) -> None:
        """The first token of a request appeared."""
        self.first_token[request.number] = now
        self.ttft.append(now - request.arrival)

    def finish_one(self, request: Request, now: int) -> None:
        """The last token of a request appeared."""
        number = request.number
        self.finish[number] = now
        self.finished += 1
        self.e2e.append(now - request.arrival)
        if request.output > 1:
            self.tpot.append((now - self.first_token[number]) / (request.output - 1))


class Engine:
    """Replays a workload on one manager under one set of rules, timed by a cost model.

    `abort_at` lists (ps, request number) in order of time; `prepare` may set what the columns do not say
    before a request is queued. `drafter` says how drafting goes, by default at the rate of acceptance in the
    rules. Without `refuse` a request that can never fit waits for ever, as it does in vLLM, and the run ends
    as `stuck`.
    """

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        manager: MemoryManager,
        cost: CostModel,
        *,
        abort_at: Iterable[tuple[int, int]] = (),
        prepare: Callable[[Request], None] | None = None,
        refuse: bool = True,
        until_ps: int | None = None,
        drafter: DraftModel | None = None,
    ) -> None:
        self.workload = workload
        self.rules = rules
        self.manager = manager
        self.cost = cost
        explicit = rules.explicit or not manager.batched
        self.scheduler = ExplicitScheduler(rules, manager, drafter) if explicit else Scheduler(rules, manager)
        self._meter = Meter()
        self.observer: Observer | None = None
        self.clock: StepClock | None = None  # where times are measured and not computed
        self.now_ps = 0
        self.done = not len(workload)
        self.stuck = False
        self.results = Results(len(workload))
        self.known = 0  # requests that have arrived
        ahead = rules.speculation.keyed_ahead
        self._keys = BlockKeys(workload, manager.block_size, ahead=ahead) if manager.prefix_cache else None
        closed = workload.closed or workload.clients
        self._loop = ClosedLoop(Turns(workload)) if closed else None
        self._coming = self._loop or Arrivals(workload)
        self._next = self._coming.next()
        self._aborts = list(abort_at)[::-1]  # next one last
        self._live: dict[int, Request] = {}  # kept only where requests may be aborted
        self._prepare = prepare
        self._refuse = refuse
        self._idle = 0  # steps in a row that did nothing
        self._until = NEVER if until_ps is None else until_ps
        self._deadline = self._until  # of the run, or the next abort
        self._event = 0  # no arrival, abort or end before then
        self._changed = True  # whether levels may have changed since they were measured
        self._rates: dict[int, tuple[int, int]] = {}

    @property
    def next_ps(self) -> int:
        """When the next step starts: now or, where nothing runs or waits, when something arrives."""
        due = None if self.scheduler.active else self._due()
        return self.now_ps if due is None else max(self.now_ps, due)

    @property
    def meter(self) -> Meter:
        """What was measured up to now."""
        self._meter.flush(self.now_ps)
        return self._meter

    # ---- running

    def run(self) -> None:
        """To the end."""
        while self.step(UNLIMITED):
            pass

    def step(self, limit: int = 1) -> bool:
        """Do at most `limit` scheduler steps in one call; False when nothing is left to do."""
        if self.now_ps >= self._event or not self.scheduler.active:
            if self.done or not self._take_in():
                self.done = True
                return False
            self._changed = True
        steps = self.scheduler.horizon() if self.clock is None else 0
        plan = self._leap(steps if steps < limit else limit) if steps else None
        if plan is None:
            plan = self._full_step()
            self._idle = self._idle + 1 if plan.idle else 0
            if self._idle >= PATIENCE and self._due() is None and self.scheduler.settled:
                self.done = self.stuck = True
        if self.observer is not None:
            self.observer.updated(self, plan)
        return not self.done

    def _leap(self, steps: int) -> Plan | None:
        scheduler, meter, now = self.scheduler, self._meter, self.now_ps
        decodes = len(scheduler.running)
        fixed, slope = self._rates.get(decodes) or self._rate(decodes)
        context = scheduler.decode_context
        first, rise = fixed + slope * context, slope * decodes
        uniform = self.manager.uniform
        if steps > 1:
            # Where it matters which blocks lose content, look at every step.
            steps = self._until_event(steps, first, rise) if uniform else 1
        if self._changed:
            meter.set(
                now, decodes, scheduler.final, self.manager.levels(self._wanted()), blocked=scheduler.blocked
            )
            self._changed = False
        bought: list[tuple[int, int]] = []
        plan = scheduler.leap(steps, context, bought)
        if plan is None:
            return None
        if self.observer is not None:
            self.observer.scheduled(self, plan)
        if plan.steps == 1:
            dt = first
            meter.store(plan.stored, dt)
        else:
            dt = plan.steps * first + rise * (plan.steps * (plan.steps - 1) // 2)
            meter.store_leap(plan.steps, plan.stored, decodes, first, rise)
        for done, blocks in bought:
            slots = blocks * self.manager.block_size
            meter.buy(now + done * first + rise * (done * (done - 1) // 2), slots)
        if not uniform:
            meter.set(
                now, decodes, scheduler.final, self.manager.levels(self._wanted()), blocked=scheduler.blocked
            )
        self.now_ps = now + dt
        self._settle(plan)
        return plan

    def _full_step(self) -> Plan:
        scheduler = self.scheduler
        plan = scheduler.full_step()
        if self.observer is not None:
            self.observer.scheduled(self, plan)
        dt = self._duration(plan)
        levels = self.manager.levels(self._wanted())
        self._meter.set(
            self.now_ps, len(scheduler.running), scheduler.final, levels, blocked=scheduler.blocked
        )
        self._meter.store(plan.stored, dt)
        self._changed = False
        if self.rules.async_scheduling:
            self._settle(plan)  # what came in is the result of the step before
            self.now_ps += dt
        else:
            self.now_ps += dt
            self._settle(plan)
        return plan

    def _duration(self, plan: Plan) -> int:
        if self.clock is not None:
            return self.clock.duration(self, plan)
        return self.cost.step(plan.decodes, plan.decode_context, plan.prefill_tokens, plan.prefill_pairs)

    def _settle(self, plan: Plan) -> None:
        """Results of the model come in now."""
        self.scheduler.commit(plan)
        results = self.results
        results.output_tokens += plan.tokens
        for request in plan.first_tokens:
            results.first(request, self.now_ps)
        if plan.finished:
            self._changed = True
            for request in plan.finished:
                results.finish_one(request, self.now_ps)
                self._live.pop(request.number, None)
                self._ended(request.number, self.now_ps)

    def _rate(self, decodes: int) -> tuple[int, int]:
        """Time of a step of so many decodes: without context, and for each token of context."""
        fixed = self.cost.leap(decodes, 0, 1)
        rate = self._rates[decodes] = fixed, self.cost.leap(decodes, 1, 1) - fixed
        return rate

    def _until_event(self, steps: int, first: int, rise: int) -> int:
        """At most so many steps that the last one starts before the next event that could matter."""
        room = (self._event if self.scheduler.open else self._deadline) - self.now_ps
        if room <= 0:
            return 1
        if steps * first + rise * (steps * (steps - 1) // 2) < room:
            return steps
        low, high = 0, min(steps, room // first + 1)  # low steps end before the event, high steps do not
        while high - low > 1:
            middle = (low + high) // 2
            if middle * first + rise * (middle * (middle - 1) // 2) < room:
                low = middle
            else:
                high = middle
        return high

    def _wanted(self) -> Request | None:
        waiting = self.scheduler.waiting
        return waiting.head() if waiting else None

    # ---- arrivals and aborts

    def _due(self) -> int | None:
        """When the next arrival or abort is."""
        times = [self._next.time] if self._next is not None else []
        if self._aborts:
            times.append(self._aborts[-1][0])
        return min(times, default=None)

    def _take_in(self) -> bool:
        """Take in what is due; jump over idle time. False when nothing is left or the time is up."""
        while self.now_ps < self._until:
            self._take_in_until(self.now_ps)
            due = self._due()
            self._deadline = min(self._until, self._aborts[-1][0] if self._aborts else NEVER)
            self._event = min(self._deadline, due if due is not None else NEVER)
            if self.scheduler.active:
                return True
            self.scheduler.rest()
            if self.observer is not None:
                self.observer.idle(self)
            if due is None:
                return False
            self._meter.flush(self.now_ps)
            self.now_ps = max(self.now_ps, due)
            self._meter.skip(self.now_ps)
        return False

    def _take_in_until(self, now: int) -> None:
        while self._aborts and self._aborts[-1][0] <= now:
            time, number = self._aborts[-1]
            self._arrive_before(time)
            del self._aborts[-1]
            request = self._live.pop(number, None)
            if request is not None:
                self.scheduler.abort(request)
                self.results.aborted.add(number)
                self._ended(number, time)
                if self.observer is not None:
                    self.observer.aborted(self, request)
        self._arrive_before(now + 1)

    def _arrive_before(self, time: int) -> None:
        while self._next is not None and self._next.time < time:
            arrival, self._next = self._next, self._coming.next()
            self._arrive(arrival)

    def _ended(self, number: int, now: int) -> None:
        """In a closed loop others are sent when a request has ended."""
        if self._loop is not None:
            self._next = self._loop.ended(number, now, self._next)
            if self._next is not None:
                self._event = min(self._event, self._next.time)

    def _arrive(self, arrival: Arrival) -> None:
        self.known += 1
        keys = self._keys.of(arrival.number) if self._keys is not None else []
        max_len = self.rules.max_model_len
        request = request_of(arrival, keys, max_len)
        needed, room = (arrival.prompt + 1, max_len) if arrival.prompt else (1, 0)
        if self._refuse and needed <= room:
            needed, room = self.manager.need(request), self.manager.blocks
            if not self.manager.can_hold(request) and needed <= room:
                needed, room = room + 1, room  # enough units, but no range so large
        if needed > room:
            request.move(Phase.REJECTED)
            self.results.refusals[arrival.number] = (needed, room)
            if self.observer is not None:
                self.observer.rejected(self, request)
            self._ended(arrival.number, arrival.time)
            return
        if self._prepare is not None:
            self._prepare(request)
        self.scheduler.add(request)
        if self._aborts:
            self._live[arrival.number] = request
        if self.observer is not None:
            self.observer.arrived(self, request)
