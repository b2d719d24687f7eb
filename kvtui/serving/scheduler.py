"""Continuous batching by the rules of vLLM V1: who runs, who gets how many tokens, who has to give way.

A step is a running pass and a waiting pass. Steps in which nobody can be admitted and everybody decodes are
alike and can be done many at a time (`leap`); all others are `full_step`s, which cost what changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from kvtui.memory.hits import Hits
from kvtui.memory.levels import Bought
from kvtui.serving.plan import Plan
from kvtui.serving.queues import Queues
from kvtui.serving.request import Phase, Request
from kvtui.serving.rules import capped
from kvtui.serving.waiting import victim_of


class Scheduler(Queues):
    """The passes over the queues of one lane."""

    # ---- steps

    def leap(self, steps: int, bought: Bought) -> int:
        """Up to `steps` (at most `horizon()`) decode-only steps; returns how many memory sufficed for."""
        done = self.manager.advance(self.step, steps, bought)
        self.step += done
        if self._recounts and self.blocked:
            self._recount(done)
        return done

    def _recount(self, steps: int) -> None:
        """The blocked head was looked up in each of these steps."""
        if self._tried is not None:
            self._count(*self._tried, times=steps)

    def full_step(self) -> Plan:
        """One step by all the rules: the running pass, then the waiting pass."""
        self.blocked, self._wish, self._tried = False, None, None
        plan = Plan(self.step)
        cap = self.rules.prefill_cap(len(self.running) + len(self.waiting))
        budget = self.rules.token_budget
        chunks = self._chunks(cap, budget)
        if chunks is not None and self.manager.serve(self.step, chunks):
            left = budget - len(self.running) + len(self._chunking)
            if chunks:
                plan.prefill = [(r, r.computed, n) for r, n in chunks]
                left -= sum(n for _, n in chunks)
        else:
            left = self._walk(plan, cap, budget)
        if not plan.preempted:
            self._admissions(plan, cap, left)
        self._sum_up(plan)
        self.step += 1
        return plan

    def commit(self, plan: Plan) -> None:
        """The model has run: tokens appear, requests end and free their memory."""
        plan.tokens = plan.decodes
        ending: list[Request] = []
        for request, start, tokens in plan.prefill:
            request.computed = start + tokens
            if request.computed == request.known:
                self._first_token(plan, request, ending)
        for request in plan.hungry:
            self._delay(request)
        plan.finished = self.end_decodes(ending)

    def end_decodes(self, also: Iterable[Request] = ()) -> Sequence[Request]:
        """End those whose last token has appeared, and `also` others; in batch order."""
        ending = [*also, *self._finishes.take(self.step - 1)]
        ending.sort(key=attrgetter("order"))
        for request in ending:
            self._end(request)
            self.blocked = False
        return ending

    # ---- the running pass

    def _chunks(self, cap: int | None, budget: int) -> list[tuple[Request, int]] | None:
        """What requests in mid-prompt get if all goes well; None if the budget must be dealt one by one."""
        left = budget - len(self.running) + len(self._chunking)
        if left < 0:
            return None
        if not self._chunking:
            return []
        wants = [(r, capped(r.known - r.computed, cap)) for r in self._chunking]
        if sum(n for _, n in wants) <= left:
            return wants
        if len(wants) == 1 and next(reversed(self.running.values())) is wants[0][0]:
            return [(wants[0][0], left)] if left else []
        return None

    def _walk(self, plan: Plan, cap: int | None, budget: int) -> int:
        """Deal budget and blocks request by request, preempting for those that come first; returns the
        budget left."""
        batch = list(self.running.values())
        served: dict[Request, int] = {}
        i = 0
        while i < len(batch) and budget > 0:
            request = batch[i]
            stored = request.stored(self.step)
            n = self._share(request, cap, budget)
            if n <= 0:
                i += 1
                continue
            while not self.manager.grow(request, stored + n):
                at = victim_of(self.rules.policy, batch)
                victim = batch.pop(at)
                given = served.pop(victim, 0)
                budget += given
                i -= at < i
                self._preempt(plan, victim, request, given)
                if victim is request:
                    break
            if request.order < 0:
                if self.rules.release.go_on and self.rules.policy == "priority":
                    continue  # those behind it are more urgent
                break
            self._scheduled(request, stored, n)
            served[request] = n
            budget -= n
            i += 1
        plan.prefill = [(r, r.computed, n) for r, n in served.items() if r.chunking]
        plan.hungry = [r for r in batch if not r.chunking and r not in served]
        return budget

    def _share(self, request: Request, cap: int | None, budget: int) -> int:
        """Tokens that a running request gets of what is left of the budget."""
        return min(capped(request.known - request.computed if request.chunking else 1, cap), budget)

    def _scheduled(self, request: Request, stored: int, n: int) -> None:
        """The next `n` tokens of a running request have their slots."""
        self.manager.register(request, stored + n)

    def _preempt(self, plan: Plan, victim: Request, served: Request, given: int) -> None:
        """Preemption by recompute: everything is freed, what was generated becomes part of the prompt."""
        if not victim.chunking:
            victim.generated = victim.stored(self.step) + 1 - victim.prompt
        plan.preempted = [*plan.preempted, (victim, served, victim.blocks_held)]
        content = self._content(victim, given)
        self._leave(victim)
        self.manager.release(victim, content, again=True)
        victim.preemptions += 1
        victim.move(Phase.PREEMPTED)
        victim.computed = 0
        self.preemptions += 1
        self.preempted_waiting += 1
        self.waiting.put_back(victim)

    # ---- the waiting pass

    def _admissions(self, plan: Plan, cap: int | None, left: int) -> None:
        rules, manager = self.rules, self.manager
        limit = rules.running_limit
        while left > 0 and len(self.running) < limit and (request := self._candidate()) is not None:
            hits = manager.lookup(request)
            hit, request.boundary = hits.tokens, hits.boundary
            if not rules.release.count_at_admission:
                self._count(request, hit)
            tokens = self._first_chunk(request, hit, cap, left)
            if not tokens and self._stands_aside():
                continue
            if not tokens:
                # Refused for budget: later steps differ only if somebody's chunk used some of it.
                self._refuse(request, hits)
                self.blocked = not plan.prefill
                return
            watermark = self._watermark if self.running else 0
            if not manager.admit(request, hits, tokens, watermark=watermark, reserve_full=rules.reserve_full):
                self._refuse(request, hits)
                return
            if rules.release.count_at_admission:
                self._count(request, hit)
            self._take_in(plan, request, hit, tokens)
            left -= tokens

    def _refuse(self, request: Request, hits: Hits) -> None:
        """The head of the queue has to wait; a longer hit could help."""
        self.blocked = True
        self._tried = (request, hits.tokens)
        key = self.manager.missing_key(request, hits)
        self._wish = None if key is None else (len(hits.blocks), key)

    def _first_chunk(self, request: Request, hit: int, cap: int | None, left: int) -> int:
        """Tokens for a request that could be admitted with `hit` tokens; 0 = it has to wait."""
        tokens = capped(request.known - hit, cap)
        if tokens <= left:
            return tokens
        return left if self.rules.enable_chunked_prefill else 0

    def _stands_aside(self) -> bool:
        """Whether the head of the queue, which got nothing, has let those behind it go first."""
        return False

    def _take_in(self, plan: Plan, request: Request, hit: int, tokens: int) -> None:
        """From the queue into the batch."""
        self.waiting.take()
        self.preempted_waiting -= request.phase is Phase.PREEMPTED
        request.move(Phase.RUNNING)
        self._seat(request)
        plan.admitted = [*plan.admitted, (request, hit)]
        plan.prefill = [*plan.prefill, (request, hit, tokens)]

    def _candidate(self) -> Request | None:
        """Who may be admitted next."""
        return self.waiting.head() if self.waiting else None

    def _count(self, request: Request, hit: int, times: int = 1) -> None:
        if self.manager.prefix_cache and not request.skip_lookup:
            self.prefix.count(request, hit, times)

    # ---- bookkeeping

    def _sum_up(self, plan: Plan) -> None:
        """Count the work of a full step, after scheduling and before anything ends."""
        decodes = len(self.running) - len(self._chunking)
        stored = self._offsets + decodes * (self.step + 1)
        plan.decodes, plan.decode_context = decodes, stored
        if plan.hungry:
            stored -= len(plan.hungry)
            plan.decodes -= len(plan.hungry)
            plan.decode_context = stored - sum(r.offset + self.step for r in plan.hungry)
        if self._chunking:
            plan.count_prefill(plan.prefill)
            stored += plan.prefill_tokens + sum([r.computed for r in self._chunking])
        plan.stored = self.filled(stored)

    def _first_token(self, plan: Plan, request: Request, ending: list[Request]) -> None:
        """All known tokens are computed: a token appears, the first one or the next after a preemption."""
        if request.output:
            plan.tokens += 1
            request.generated += 1
            if request.generated == 1:
                plan.first_tokens = [*plan.first_tokens, request]
        if request.generated >= request.output:
            ending.append(request)
            return
        self._decode_from(request, self.step)
