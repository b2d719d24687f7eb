"""Asynchronous scheduling: each step is scheduled before the result of the one before is seen.

A request whose known tokens are all scheduled goes on with a placeholder for the token that is being
generated. Its blocks can be found once that token has arrived; ends and what they free come one step later.
"""

from __future__ import annotations

from collections import deque

from kvtui.memory.protocol import MemoryManager
from kvtui.plan import Plan
from kvtui.request import Phase, Request
from kvtui.rules import Rules
from kvtui.scheduler import Scheduler

DEPTH = 2  # batches in flight
Answer = tuple[Request, int, bool]  # request, tokens computed, whether it generates one


class AsyncScheduler(Scheduler):
    """The same passes with two batches in flight. Every step is a full step; all running requests count as
    chunking, with `computed` running ahead of what is known."""

    def __init__(self, rules: Rules, manager: MemoryManager) -> None:
        super().__init__(rules, manager)
        self._flight: deque[list[Answer]] = deque()
        self._aside: list[Request] = []  # heads of the queue whose last token is still in flight

    @property
    def active(self) -> bool:
        return super().active or any(self._flight)

    @property
    def settled(self) -> bool:
        return not self._flight

    def horizon(self) -> int:
        return 0

    def rest(self) -> None:
        self._flight.clear()

    def commit(self, plan: Plan) -> None:
        """The batch is on its way; results of the batch before come in."""
        answers = []
        for request, start, n in plan.prefill:
            request.computed = start + n
            request.inflight += n
            generates = request.computed >= request.known + request.placeholders
            request.placeholders += generates
            answers.append((request, n, generates))
        self._flight.append(answers)
        plan.answered = len(self._flight) >= DEPTH or not (answers or self.running or self.waiting)
        if plan.answered:
            for request, n, generates in self._flight.popleft():
                if request.phase not in (Phase.FINISHED, Phase.ABORTED):
                    self._arrived(plan, request, n, generates)

    def _arrived(self, plan: Plan, request: Request, n: int, generates: bool) -> None:
        request.inflight -= n
        stale = request.stale > 0
        if stale:
            request.stale -= n
        if not generates:
            return
        if request.output:
            request.generated += 1
            plan.tokens += 1
            if request.generated == 1:
                plan.first_tokens = [*plan.first_tokens, request]
        request.placeholders -= not stale
        if request.phase is Phase.RUNNING:
            self._publish(request, request.computed - request.placeholders)
        if request.generated >= request.output:
            self._end_one(request)
            plan.finished = [*plan.finished, request]

    def _end_one(self, request: Request) -> None:
        if request.phase is Phase.RUNNING:
            self._leave(request)
            self.manager.release(request, request.cached)
        else:
            # A token that was in flight when it was preempted was its last.
            self.waiting.remove(request)
            self.preempted_waiting -= 1
        request.move(Phase.FINISHED)

    # ---- the passes

    def _chunks(self, cap: int | None, budget: int) -> None:
        return None  # always request by request

    def _want(self, request: Request) -> int:
        if request.placeholders:
            seen = request.computed + 2 - request.placeholders
            if seen >= request.prompt + request.max_tokens:
                return 0  # the token in flight is its last
        want = request.known + request.placeholders - request.computed
        return min(want, self.rules.max_model_len - request.computed - 1)

    def _scheduled(self, request: Request, stored: int, n: int) -> None:
        self._publish(request, min(stored + n, request.known))

    def _publish(self, request: Request, upto: int) -> None:
        if upto > request.cached:
            self.manager.register(request, request.cached, upto)
            request.cached = upto

    def _content(self, request: Request, given: int = 0) -> int:
        return request.cached

    def _preempt(self, plan: Plan, victim: Request, served: Request, given: int) -> None:
        super()._preempt(plan, victim, served, given)
        victim.stale, victim.placeholders, victim.cached = victim.inflight, 0, 0

    def _candidate(self) -> Request | None:
        while self.waiting and self.waiting.head().stale:
            self._aside.append(self.waiting.pop())
        return super()._candidate()

    def _admissions(self, plan: Plan, cap: int | None, left: int) -> None:
        super()._admissions(plan, cap, left)
        while self._aside:
            self.waiting.put_back(self._aside.pop())
        for request, hit in plan.admitted:
            request.cached = hit
        for request, start, n in plan.prefill:
            request.cached = max(request.cached, min(start + n, request.known))

    def _sum_up(self, plan: Plan) -> None:
        """A request computes a token that it generates as soon as everything known is computed."""
        decodes = [start + 1 for request, start, _ in plan.prefill if start >= request.known]
        plan.decodes, plan.decode_context = len(decodes), sum(decodes)
        plan.count_prefill(chunk for chunk in plan.prefill if chunk[1] < chunk[0].known)
        plan.stored = sum(r.computed for r in self.running.values()) + sum(n for _, _, n in plan.prefill)
