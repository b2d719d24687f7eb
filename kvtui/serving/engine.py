"""One lane's engine: the clock, arrivals in, the scheduler's steps, and what is measured of them.

Synchronous, pure and deterministic: no wall clock, no randomness, no coroutine. `step()` does one scheduler
step or, with a higher limit, leaps over as many steps without a decision; both give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from kvtui.memory.protocol import MemoryManager
from kvtui.serving.closedloop import ClosedLoop, Turns
from kvtui.serving.cost import CostModel
from kvtui.serving.explicit import ExplicitScheduler
from kvtui.serving.intake import Arrival, Arrivals, BlockKeys, request_of
from kvtui.serving.meter import Meter
from kvtui.serving.observer import Observer
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.serving.results import Results
from kvtui.serving.rules import Rules
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.shortcuts import rounds_of
from kvtui.serving.speculation import DraftModel
from kvtui.serving.stretch import Stretch
from kvtui.serving.tally import Tally
from kvtui.traces.workload import Workload

if TYPE_CHECKING:
    from kvtui.serving.measured import StepClock

UNLIMITED = 1 << 60
NEVER = 1 << 80  # ps
PATIENCE = 3  # steps that do nothing, with nothing to come, before a run counts as stuck


def scheduler_for(rules: Rules, manager: MemoryManager, drafter: DraftModel | None = None) -> Scheduler:
    """vLLM V1's scheduler, in the form that the rules need."""
    explicit = rules.explicit or not manager.batched
    return ExplicitScheduler(rules, manager, drafter) if explicit else Scheduler(rules, manager)


class Engine:
    """Replays a workload on one manager under one set of rules, timed by a cost model.

    `abort_at` lists (ps, request number) in order of time; `prepare` may set what the columns do not say
    before a request is queued. `drafter` says how drafting goes, by default at the rate of acceptance in the
    rules; `scheduler` schedules in place of vLLM V1's. Without `refuse` a request that can never fit waits
    for ever, as it does in vLLM, and the run ends as `stuck`.
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
        scheduler: Scheduler | None = None,
    ) -> None:
        self.workload = workload
        self.rules = rules
        self.manager = manager
        self.cost = cost
        self.scheduler = scheduler or scheduler_for(rules, manager, drafter)
        self._meter = Meter(manager.blocks * manager.block_size)
        self.tally = Tally()
        self.observer: Observer | None = None
        self.clock: StepClock | None = None  # where times are measured and not computed
        self.now_ps = 0
        self.done = not len(workload)
        self.stuck = False
        self.results = Results(len(workload))
        self.known = 0  # requests that have arrived
        ahead = rules.speculation.keyed_ahead
        keyed = manager.prefix_cache and workload.unit
        self._keys = BlockKeys(workload, manager.block_size, ahead=ahead) if keyed else None
        closed = workload.closed or workload.clients
        self._loop = ClosedLoop(Turns(workload)) if closed else None
        self._coming = self._loop or Arrivals(workload)
        self._next = self._coming.next()
        self._aborts = list(abort_at)[::-1]  # next one last
        self._live: dict[int, Request] = {}  # kept only where requests may be aborted
        self._prepare = prepare
        self._refuse = refuse
        # vLLM's asynchronous loop does not: as recorded, such a run goes on to its last step.
        self.notices_stall = refuse or not rules.async_scheduling
        self._idle = 0  # steps in a row that did nothing
        self._until = NEVER if until_ps is None else until_ps
        self._deadline = self._until  # of the run, or the next abort
        self._event = 0  # no arrival, abort or end before then
        self._tokens = 0  # generated before the stretch that goes on
        self._changed = True  # whether levels may have changed since they were measured
        self._steady = manager.steady
        self._rates: dict[int, tuple[int, int]] = {}
        self._stretch: Stretch | None = None  # going on

    @property
    def next_ps(self) -> int:
        """When the next step starts: now or, where nothing runs or waits, when something arrives."""
        due = self.now_ps if self.scheduler.active else self._due()
        return self.now_ps if due == NEVER else max(self.now_ps, min(due, self._until))

    @property
    def undisturbed(self) -> bool:
        """Whether no arrival, abort or end is due before the next step."""
        return self.now_ps < self._event

    @property
    def output_tokens(self) -> int:
        """Generated so far, by whomever."""
        stretch = self._stretch
        return self._tokens + (stretch.steps * stretch.decodes if stretch is not None else 0)

    @property
    def meter(self) -> Meter:
        """What was measured up to now."""
        if self._stretch is not None:
            self._tokens = self.output_tokens
            self._stretch.measure(self._meter, self.manager.block_size)
            self._stretch.begin_anew()
        self._meter.flush(self.now_ps)
        return self._meter

    def keys_of(self, number: int) -> list[int]:
        """Keys of the leading blocks of a request that another one can meet."""
        return self._keys.of(number) if self._keys is not None else []

    # ---- running

    def run(self, calls: int = UNLIMITED) -> bool:
        """To the end, or at most so many leaps and full steps; whether something is left to do."""
        rounds = rounds_of(self)
        if rounds is None:
            return all(self.step(UNLIMITED) for _ in range(calls))
        while calls > 0 and not self.done:
            calls = rounds.run(calls)
            if calls > 0 and not self.done:
                self.step(UNLIMITED)
                calls -= 1
        return not self.done

    def step(self, limit: int = 1) -> bool:
        """Do at most `limit` scheduler steps in one call; False when nothing is left to do."""
        stretch = self._stretch
        if stretch is None or self.now_ps >= self._event:
            stretch = self._turn(stretch)
            if stretch is None:
                if not self.done:
                    self._full_step()
                return not self.done
        steps = limit if limit < stretch.left else stretch.left
        if steps > 1:
            # In a leap arrivals that change nothing are taken in late.
            due = self._event if self.scheduler.open else self._deadline
            steps = stretch.within(due - self.now_ps, steps)
        done = self.scheduler.leap(steps, stretch.bought)
        if not done:  # memory suffices for none
            self._end_stretch(stretch)
            self._full_step()
        elif self.observer is None:
            self._land(stretch, done)
        else:
            self._show_leap(self.observer, stretch, done)
        return not self.done

    def _turn(self, stretch: Stretch | None) -> Stretch | None:
        """Something is due or a full step was done: begin a stretch, if there is one to begin."""
        if stretch is not None:
            self._end_stretch(stretch)
        if (self.now_ps >= self._event or not self.scheduler.active) and not self._take_in():
            self.done = True
            return None
        self._stretch = self._begin_stretch()
        return self._stretch

    def _begin_stretch(self) -> Stretch | None:
        """What can be done before the next full step, if anything."""
        scheduler = self.scheduler
        told = self.observer is None or scheduler.leaps_observed
        left = scheduler.horizon() if told and self.clock is None else 0
        if not left:
            return None
        if not self._steady:
            left = 1  # look at every step
        if self._changed:
            self._look()
        decodes, context = len(scheduler.running), scheduler.decode_context
        fixed, slope = self._rates.get(decodes) or self._rate(decodes)
        first, beside = fixed + slope * context, decodes * self.manager.beside
        return Stretch(left, decodes, self.now_ps, first, slope * decodes, context, beside)

    def _end_stretch(self, stretch: Stretch) -> None:
        self._tokens += stretch.steps * stretch.decodes
        stretch.measure(self._meter, self.manager.block_size)
        self._stretch = None

    def _land(self, stretch: Stretch, done: int) -> Sequence[Request]:
        """So many steps have gone by; returns who ended with the last of them."""
        if not self._steady:
            self._look()
            stretch.stored = self.scheduler.filled(stretch.stored)
        if done == 1:
            self.now_ps += stretch.next
            stretch.next += stretch.rise
        else:
            self.now_ps += stretch.time(done)
            stretch.next += done * stretch.rise
        left = stretch.left = stretch.left - done
        if left:
            return ()
        self._end_stretch(stretch)
        ended = self.scheduler.end_decodes()
        self._end_all(ended)
        return ended

    def _show_leap(self, observer: Observer, stretch: Stretch, done: int) -> None:
        """As `_land`, and the observer is told before anything ends and after."""
        context = stretch.stored + stretch.steps * stretch.decodes
        plan = Plan.of_leap(self.scheduler.step - done, done, stretch.decodes, context)
        plan.stored = self.scheduler.filled(context)
        observer.scheduled(self, plan)
        plan.finished = self._land(stretch, done)
        observer.updated(self, plan)

    def _full_step(self) -> None:
        scheduler = self.scheduler
        plan = scheduler.full_step()
        self.tally.count(plan, self.manager.block_size)
        if self.observer is not None:
            self.observer.scheduled(self, plan)
        dt = self._duration(plan)
        self._look()
        self._meter.store(plan.stored, dt)
        if self.rules.async_scheduling:
            self._settle(plan)  # what came in is the result of the step before
            self.now_ps += dt
        else:
            self.now_ps += dt
            self._settle(plan)
        if plan.idle:
            self._count_idle()
        else:
            self._idle = 0
        if self.observer is not None:
            self.observer.updated(self, plan)

    def _count_idle(self) -> None:
        """A step did nothing; where nothing will ever change, that is the end."""
        self._idle += 1
        if self._idle >= PATIENCE and self.notices_stall and self._due() == NEVER and self.scheduler.settled:
            self.done = self.stuck = True

    def _duration(self, plan: Plan) -> int:
        if self.clock is not None:
            return self.clock.duration(self, plan)
        return self.cost.step(plan.decodes, plan.decode_context, plan.prefill_tokens, plan.prefill_pairs)

    def _settle(self, plan: Plan) -> None:
        """Results of the model come in now."""
        self.scheduler.commit(plan)
        self._tokens += plan.tokens
        for request in plan.first_tokens:
            self.results.first(request, self.now_ps)
        self._end_all(plan.finished)

    def _end_all(self, requests: Sequence[Request]) -> None:
        if requests:
            self._changed = True
        for request in requests:
            self.results.finish_one(request, self.now_ps)
            self._live.pop(request.number, None)
            self._ended(request.number, self.now_ps)

    def _look(self) -> None:
        """Measure levels, which stand until they are measured again."""
        scheduler, waiting = self.scheduler, self.scheduler.waiting
        levels = self.manager.levels(waiting.head() if waiting else None)
        self._meter.set(self.now_ps, scheduler.batch, scheduler.final, levels, blocked=scheduler.blocked)
        self._changed = False

    def _rate(self, decodes: int) -> tuple[int, int]:
        """Time of a step of so many decodes: without context, and for each token of context."""
        fixed = self.cost.leap(decodes, 0, 1)
        rate = self._rates[decodes] = fixed, self.cost.leap(decodes, 1, 1) - fixed
        return rate

    # ---- arrivals and aborts

    def _due(self) -> int:
        """When the next arrival or abort is."""
        due = self._next.time if self._next is not None else NEVER
        return min(due, self._aborts[-1][0]) if self._aborts else due

    def _take_in(self) -> bool:
        """Take in what is due; jump over idle time. False when nothing is left or the time is up."""
        self._changed = True
        while self.now_ps < self._until and not self.stuck:
            if self._aborts:
                self._abort_until(self.now_ps)
            self._arrive_before(self.now_ps + 1)
            due = self._due()
            self._deadline = min(self._until, self._aborts[-1][0]) if self._aborts else self._until
            self._event = min(self._deadline, due)
            if self.scheduler.active:
                return True
            self.scheduler.rest()
            if self.observer is not None:
                self.observer.idle(self)
            if due == NEVER:
                return False
            self._meter.flush(self.now_ps)
            self.now_ps = max(self.now_ps, min(due, self._until))
            self._meter.skip(self.now_ps)
        return False

    def _abort_until(self, now: int) -> None:
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
        request = self._request(arrival, self.keys_of(arrival.number))
        refusal = self._refusal(request)
        if refusal is not None:
            request.move(Phase.REJECTED)
            self.results.refusals[arrival.number] = refusal
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

    def _request(self, arrival: Arrival, keys: list[int]) -> Request:
        """The request as it comes in."""
        return request_of(arrival, keys, self.rules.max_model_len)

    def _refusal(self, request: Request) -> tuple[int, int] | None:
        """Why a request can never be served: what it needs, and what there is."""
        max_len = self.rules.max_model_len
        if not 0 < request.prompt < max_len:
            return (request.prompt + 1, max_len) if request.prompt else (1, 0)
        if not self._refuse or self.manager.can_hold(request):
            return None
        needed, room = self.manager.need(request), self.manager.blocks
        return max(needed, room + 1), room  # where there are enough units, no range is so large
