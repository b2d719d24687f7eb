"""Plain rounds of asynchronous scheduling: the same wheel, first tokens and ends one step later.

While a step runs the next one is scheduled: who has the last token on its way gets nothing more, but keeps
place and memory for that step. Between rounds what is computed and what is in flight is explicit, as
`ExplicitScheduler` has it; within them it follows from when a request began to decode. A round looks at who
comes in and at what changes, and at nobody else. Who has to give way is left to the scheduler.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.pool import BlockPool
from kvtui.memory.protocol import MemoryManager
from kvtui.memory.wheel import PhaseWheel
from kvtui.serving.admitting import AdmittingRounds
from kvtui.serving.explicit import Answer, ExplicitScheduler
from kvtui.serving.finishes import Finishes
from kvtui.serving.request import Request
from kvtui.serving.rounds import alone
from kvtui.serving.tally import Part

if TYPE_CHECKING:
    from kvtui.serving.engine import Engine

FEW = 4  # calls that are not worth going over to rounds and back
PATIENCE = 5  # how often the calls are doubled that pass before it is tried again


class AheadRounds(AdmittingRounds):
    """Rounds of one engine, for as long as its scheduler and manager are these."""

    def __init__(
        self, engine: Engine, scheduler: ExplicitScheduler, manager: MemoryManager, pool: BlockPool
    ) -> None:
        size = manager.block_size
        super().__init__(engine, scheduler, manager, pool, PhaseWheel(size), PhaseWheel(size))
        self._explicit = scheduler
        self._last: Sequence[Part] = []  # of the step before
        self._fresh: list[Request] = []  # whose prompts are computed and whose next tokens are on their way
        self._within = False  # what is explicit elsewhere is implied
        self._pass = 0  # calls to let pass
        self._futile = 0  # tries in a row that were not worth it

    def run(self, calls: int) -> int:
        if self._pass:
            self._pass -= 1
            return calls
        left = super().run(calls)
        if self._within:
            self._give_back()
        if calls - left >= FEW:
            self._futile = 0
        else:
            self._pass = (1 << min(self._futile, PATIENCE)) - 1
            self._futile += 1
        return left

    # ---- to rounds and back

    def _in_order(self) -> bool:
        """Take over what is explicit, where it is what rounds imply."""
        scheduler = self._explicit
        answers = scheduler._flight[-1] if scheduler._flight else []
        if [answer.request for answer in answers] != list(scheduler.running.values()):
            return False
        chunking = [answer.request for answer in answers if not answer.generates]
        if chunking[1:] or (chunking and chunking[0] is not answers[-1].request):
            return False
        if not all(map(self._implied, answers)):
            return False
        self._within = True
        scheduler._chunking = chunking
        parts = [a for a in answers if a.request.cached == a.request.computed]
        self._last = [(a.request, a.request.computed - a.tokens, a.tokens) for a in parts]
        self._fresh = [a.request for a in parts if a.generates]
        for request in scheduler.running.values():
            if request not in chunking:
                self._decode(request)
        return True

    def _implied(self, answer: Answer) -> bool:
        """Whether what a running request has in flight and in memory follows from this answer to come."""
        request, tokens, generates = answer.request, answer.tokens, answer.generates
        last_step = request.cached == request.computed  # was the one with the last part of its prompt
        return (
            request.inflight == tokens
            and request.placeholders == generates
            and (request.computed == request.known) == generates
            and (last_step or (generates and tokens == 1 and request.cached == request.computed - 1))
            and not self._lacking(request, request.computed)
        )

    def _give_back(self) -> None:
        """Make explicit what is implied."""
        scheduler, step = self._explicit, self._explicit.step
        parts = {request: tokens for request, _, tokens in self._last}
        running = list(scheduler.running.values())
        answers = []
        for request in running:
            generates = not request.chunking
            if generates:
                request.computed = request.offset + step
                request.generated = request.yields = request.computed - request.prompt
                request.chunking = True
            request.prefilling = not generates
            request.placeholders = int(generates)
            request.inflight = parts.get(request, 1)
            request.cached = request.computed - (request not in parts)
            answers.append(Answer(request, request.inflight, generates, 0, False))
        if running:
            scheduler._flight = deque([answers])
        scheduler._chunking = running
        scheduler._offsets = 0
        scheduler._finishes = Finishes()
        self._within = False
        self._renew()

    def _renew(self) -> None:
        """Wheels in which nobody stands."""
        self._wheel, self._hot = PhaseWheel(self._size), PhaseWheel(self._size)
        self._views, self._sizes = self._wheel.views, self._wheel.sizes

    # ---- rounds

    def _leap(self, n: int, due: int) -> bool:
        scheduler, now = self._scheduler, self._engine.now_ps
        if not n or scheduler._finishes.first() < scheduler.step:
            return self._step()
        if not super()._leap(n, due):
            return False
        if self._fresh:
            self._first_tokens(now)
        self._last = []
        return True

    def _end_due(self, also: Sequence[Request] = ()) -> None:
        """Nobody ends with a leap: last tokens come in while the next step runs."""

    def _publish(self, step: int, steps: int, but: Collection[Request] = ()) -> None:
        """Who begins a block, but those, knows the last token of the one before: others can find it."""
        for at in range(step, step + steps):
            self._publish_at(at, but)

    def _publish_at(self, step: int, but: Collection[Request]) -> None:
        for request in list(self._hot.at(step)):
            if request not in but:
                self._manager.register(request, request.offset + step)
                if request.registered == len(request.keys):
                    self._hot.leave(request)

    def _decode(self, request: Request) -> None:
        super()._decode(request)
        if request.registered < len(request.keys):
            self._hot.enter(request)

    def _end(self, request: Request) -> None:
        if self._hot.has(request):
            self._manager.register(request, request.offset + self._scheduler.step)
            self._hot.leave(request)
        super()._end(request)

    def _lacking(self, request: Request, tokens: int) -> int:
        """Blocks that it needs for so many tokens beyond those it has."""
        return -(-tokens // self._size) - len(request.table)

    def _first_tokens(self, now: int) -> None:
        """Of those whose prompts were computed in the step before a token comes in, unless they want none."""
        for request in self._fresh:
            if not request.output:
                self._engine._tokens -= 1
            elif not request.generated:
                self._engine.results.first(request, now)
        self._fresh = []

    def _step(self) -> bool:
        """A full step, while the tokens of the step before come in."""
        engine, scheduler, step = self._engine, self._scheduler, self._scheduler.step
        ending = scheduler._finishes.take(step - 1)
        if len(ending) > 1:
            ending.sort(key=attrgetter("order"))
        resting = [r for r in ending if r.max_tokens <= r.output or not self._goes_on(r)]
        coming = len(scheduler.running) - len(scheduler._chunking)
        decodes = coming - len(resting)
        left = scheduler.rules.token_budget - decodes
        parts = self._go_on(left, resting)
        hits = [] if parts is None else self._come_in(parts, left)
        if parts is None or not (coming or parts):
            for request in ending:
                scheduler._finishes.add(request)
            return False
        offsets = sum([request.offset for request in resting])
        context = scheduler._offsets - offsets + decodes * (step + 1)
        dt = self._measured(decodes, context, parts, hits, context + offsets + len(resting) * step)
        engine._tokens += coming
        if self._fresh:
            self._first_tokens(engine.now_ps)
        for request in ending:
            self._end(request)
        if not scheduler.running:
            wasted = [Answer(request, 1, True, 0, False) for request in ending if request not in resting]
            self._explicit._flight = deque([wasted])
        engine.now_ps += dt
        engine._idle = 0
        scheduler.step += 1
        self._computed(parts)
        return True

    def _goes_on(self, request: Request) -> bool:
        """Whether the server cannot know that the token on its way is the last one."""
        most = min(request.prompt + request.max_tokens, self._scheduler.rules.max_model_len)
        return request.offset + self._scheduler.step + 1 < most

    def _go_on(self, left: int, resting: list[Request]) -> list[Part] | None:
        """Blocks for all who run but those `resting`, the next part of a prompt with `left` tokens; None (no
        effect) where it is not as plain."""
        scheduler, pool, step = self._scheduler, self._pool, self._scheduler.step
        parts: list[Part] = []
        takers: Collection[Request] = self._views[step % self._size]
        if resting and takers:
            takers = [request for request in takers if request not in resting]
        need = len(takers)
        for request in scheduler._chunking:
            n = min(request.known - request.computed, left)
            need += self._lacking(request, request.computed + n)
            parts.append((request, request.computed, n))
            assert n > 0  # in the step before it got a token, and so did each that decodes now
        if need > pool.free:
            return None
        if takers:
            for request, block in zip(takers, pool.take(len(takers))):  # noqa: B905
                request.table.append(block)
        if self._hot.count:
            self._publish(step, 1, resting)
        for request, start, n in parts:
            self._manager.grow(request, start + n)
            self._manager.register(request, start + n)
        return parts

    def _come_in(self, parts: list[Part], left: int) -> list[tuple[Request, int]]:
        """Who comes in beside these parts, with `left` tokens for all; gives who found how many."""
        if self._shut():
            if self._scheduler._recounts:
                self._scheduler._recount(1)
            return []
        return self._admissions(parts, left - parts[0][2] if parts else left)

    def _shut(self) -> bool:
        """Whether the head of the queue, which shares nothing, was refused and has no more room now."""
        scheduler = self._scheduler
        if not (scheduler.blocked and scheduler.waiting and scheduler.running):
            return False
        head = scheduler.waiting.head()
        return scheduler._tried == (head, 0) and not head.keys

    def _computed(self, parts: Sequence[Part]) -> None:
        """These parts of prompts are computed now."""
        scheduler = self._scheduler
        self._last = parts
        if scheduler._chunking:
            scheduler._chunking = []
        for request, start, n in parts:
            request.computed = start + n
            if start + n == request.prompt + request.generated:
                self._decode(request)
                self._fresh.append(request)
            else:
                self._engine.tally.chunks += 1
                scheduler._chunking = [request]


class RegionRounds(AheadRounds):
    """Rounds on regions that are reserved in full: nobody ever begins a block."""

    def __init__(
        self, engine: Engine, scheduler: ExplicitScheduler, manager: ContiguousMemoryManager
    ) -> None:
        super().__init__(engine, scheduler, manager, BlockPool(0))
        self._renew()

    def _renew(self) -> None:
        super()._renew()
        nobody = PhaseWheel(self._size)
        self._views, self._sizes = nobody.views, nobody.sizes

    def _lacking(self, request: Request, tokens: int) -> int:
        return 0

    def _stand(
        self, dt: int, running: int, stored: int, taken: int = 0, empty: int = 0, more: int = 0
    ) -> None:
        super()._stand(dt, running, stored + running * self._manager.beside, taken, empty, more)
        waiting, meter = self._scheduler.waiting, self._meter
        levels = self._manager.levels(waiting.head() if waiting else None)
        meter.held += dt * levels.held
        meter.hole += dt * levels.hole


def ahead_rounds(engine: Engine) -> AheadRounds | None:
    """Rounds for an asynchronous engine that can have some: without drafts; on regions that hold what a
    request may become, too."""
    scheduler, manager, rules = engine.scheduler, engine.manager, engine.rules
    plain = rules.async_scheduling and rules.spec_method is None and rules.enable_chunked_prefill
    # Where every look-up counts, a step that finds nothing to do must not have looked.
    counted = rules.release.count_at_admission or engine._refuse
    if type(scheduler) is not ExplicitScheduler or not (plain and counted and alone(engine)):
        return None
    if type(manager) is PagedMemoryManager:
        return AheadRounds(engine, scheduler, manager, manager.pool)
    if type(manager) is ContiguousMemoryManager and manager.max_len >= rules.max_model_len:
        return RegionRounds(engine, scheduler, manager)
    return None
