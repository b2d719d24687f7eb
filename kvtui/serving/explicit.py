"""Scheduling where a decode is not just one more token a step: asynchronous, with drafts, by layer groups.

What is computed is explicit for every running request. A step in which anything happens but one token for
everybody is a full step, and so is every step with drafts or with windows.

Asynchronously each step is scheduled before the result of the one before is seen: a request whose known
tokens are all scheduled goes on with placeholders for the tokens that are being generated. Its blocks can be
found once these have arrived; ends and what they free come one step later.

With drafts a request computes them behind its known tokens and takes back those that turn out wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvtui.memory.levels import Bought
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.serving.rules import Rules, capped
from kvtui.serving.scheduler import Scheduler
from kvtui.serving.speculation import AcceptanceRate, DraftModel
from kvtui.serving.steady import go_on, steady_steps


class Answer(NamedTuple):
    """What the model gives back for one request of a batch."""

    request: Request
    tokens: int  # computed
    generates: bool
    drafts: int  # of the tokens computed
    padded: bool  # its drafts are placeholders, none of which is right


class ExplicitScheduler(Scheduler):
    """The same passes; all running requests count as chunking, with `computed` ahead of what is known while
    something is in flight."""

    leaps_observed = False

    def __init__(self, rules: Rules, manager: MemoryManager, drafter: DraftModel | None = None) -> None:
        super().__init__(rules, manager)
        self._drafter = drafter or AcceptanceRate(rules.acceptance)
        self._speculation = rules.speculation
        self._checkpoints = manager.checkpoints
        self._depth = 2 if rules.async_scheduling else 1  # batches in flight
        self._flight: deque[list[Answer]] = deque()
        self._aside: list[Request] = []  # heads of the queue that have to wait and hold nobody up
        # Of the step that is being scheduled:
        self._inputs = 0  # tokens left in the batch, the drafter's included
        self._drafts: dict[Request, int] = {}  # to be verified
        self._prompting = False  # a request in mid-prompt is served
        self._served = False  # running requests are served
        self._unready = False  # a chunk of the head would leave the drafter too little to read ahead
        # Of the answers that come in, see `Plan`:
        self._rejected: dict[Request, int] = {}
        self._lengths: dict[Request, int] = {}

    @property
    def active(self) -> bool:
        return super().active or any(self._flight)

    @property
    def settled(self) -> bool:
        return not any(self._flight)

    @property
    def stored(self) -> int:
        """Slots filled by the running requests, shared ones counted for each."""
        return sum(self.manager.filled(r, r.computed) for r in self.running.values())

    @property
    def decode_context(self) -> int:
        return sum([r.computed for r in self.running.values()]) + len(self.running)

    def horizon(self) -> int:
        running, rules = self.running, self.rules
        if not running or not self.manager.batched or self._speculation.tokens:
            return 0
        if len(running) > min(rules.token_budget, rules.batch_tokens) or not self._closed():
            return 0
        if [answer.request for answer in self._flight[-1]] != list(running.values()):
            return 0
        return steady_steps(running.values())

    def _hot_keys(self, at: int) -> set[int]:
        return {r.keys[at] for r in self.running.values() if r.registered <= at < len(r.keys)}

    def leap(self, steps: int, bought: Bought) -> int:
        done = go_on(self.running.values(), self.manager, steps, bought)
        self.step += done
        if self._recounts and self.blocked:
            self._recount(done)
        return done

    def end_decodes(self, also: Iterable[Request] = ()) -> Sequence[Request]:
        return ()  # nobody ends in a leap

    def rest(self) -> None:
        self._flight.clear()

    # ---- results

    def commit(self, plan: Plan) -> None:
        """The batch is on its way; results come in, asynchronously those of the batch before."""
        admitted = {request for request, _ in plan.admitted}
        answers = []
        for request, start, n in plan.prefill:
            drafts = plan.drafts.get(request, 0)
            request.computed = start + n
            request.inflight += n
            generates = request.computed >= request.known + request.placeholders
            request.prefilling = not generates
            if generates and self.rules.async_scheduling:
                request.placeholders += 1 + drafts
                request.drafts = self._speculation.tokens
            answers.append(Answer(request, n, generates, drafts, request in admitted))
        self._flight.append(answers)
        plan.answered = len(self._flight) >= self._depth or not (answers or self.running or self.waiting)
        if plan.answered:
            plan.rejected, plan.emitted = self._rejected, self._lengths = {}, {}
            for answer in self._flight.popleft():
                if answer.request.phase not in (Phase.FINISHED, Phase.ABORTED):
                    self._arrived(plan, answer)

    def _arrived(self, plan: Plan, answer: Answer) -> None:
        request, n = answer.request, answer.tokens
        request.inflight -= n
        stale = request.stale > 0
        if stale:
            request.stale -= n
        if not answer.generates:
            return
        right = self._verified(answer, stale) if answer.drafts else 0
        awaited = request.placeholders > 0
        self._emitted(plan, request, 1 + right, stale)
        if not self.rules.async_scheduling:
            most = self._speculation.tokens
            request.drafts = min(self._drafter.drafted(request, most), most)
        if request.phase is Phase.RUNNING:
            self._certain(request, awaited)
        request.yields += 1
        if request.generated >= request.output:
            self._end_one(request)
            plan.finished = [*plan.finished, request]

    def _verified(self, answer: Answer, stale: bool) -> int:
        """How many drafts are right; the others are not computed after all."""
        request, drafts, right = answer.request, answer.drafts, 0
        if not answer.padded:
            right = min(self._drafter.accepted(request, drafts), drafts)
            request.verifies += 1
        self.spec.count(drafts, right)
        wrong = drafts - right
        if wrong and not stale:
            request.computed -= wrong
            request.placeholders -= min(wrong, request.placeholders)
            self._rejected[request] = wrong
        return right

    def _emitted(self, plan: Plan, request: Request, tokens: int, stale: bool) -> None:
        """Tokens come in; those behind the last one count for nothing."""
        came = min(tokens, request.output - request.generated)
        if self.rules.release.hash_ahead and came < tokens and not stale:
            request.computed -= tokens - came
            self._rejected[request] = self._rejected.get(request, 0) + tokens - came
        if came:
            request.generated += came
            plan.tokens += came
            if request.generated == came:
                plan.first_tokens = [*plan.first_tokens, request]
            if came != 1:
                self._lengths[request] = came
        if not stale:
            resolved = tokens if self.rules.release.hash_ahead else came
            request.placeholders -= min(resolved, request.placeholders)

    def _certain(self, request: Request, awaited: bool) -> None:
        """What is known for certain, now that an answer is there, can be found by others."""
        if not self.rules.release.hash_ahead:
            if self.rules.async_scheduling:
                self._publish(request, request.computed - request.placeholders)
        elif awaited or self._speculation.tokens:
            self._publish(request, request.computed - request.inflight)

    def _end_one(self, request: Request) -> None:
        if request.phase is Phase.RUNNING:
            self._leave(request)
            self.manager.release(request, request.cached)
        else:
            # A token that was in flight when it was preempted was its last.
            self.waiting.remove(request)
            self.preempted_waiting -= 1
        request.move(Phase.FINISHED)
        self.blocked = False

    # ---- the passes

    def full_step(self) -> Plan:
        self._inputs = self.rules.batch_tokens
        self._drafts = {}
        self._prompting = False
        if self._checkpoints is not None:
            self._checkpoints.fresh.clear()
        return super().full_step()

    def _chunks(self, cap: int | None, budget: int) -> None:
        return None  # always request by request

    def _share(self, request: Request, cap: int | None, budget: int) -> int:
        if request.placeholders:
            seen = request.computed + 2 - request.placeholders
            if seen >= request.prompt + request.max_tokens:
                return 0  # the token in flight is its last
        want = request.known + request.drafts + request.placeholders - request.computed
        room = min(budget, self._room, self.rules.max_model_len - request.computed - 1)
        n = min(capped(want, cap), room)
        if self._checkpoints is not None and n > 0:
            n = self._checkpoints.chunk_of(request, request.computed, n)
        return self._short_of_end(request, request.computed, n)

    def _scheduled(self, request: Request, stored: int, n: int) -> None:
        self._publish(request, min(stored + n, request.known))
        self._prompting |= request.prefilling
        self._inputs -= n + self._speculation.draft_slots
        drafts = min(stored + n - request.known - request.placeholders, request.drafts)
        if drafts > 0:
            self._drafts[request] = drafts
        request.drafts = 0

    @property
    def _room(self) -> int:
        """Tokens that one more request may have of the batch, the drafter's set aside."""
        return self._inputs - self._speculation.draft_slots

    def _short_of_end(self, request: Request, stored: int, n: int) -> int:
        """A chunk of at most `n` tokens that leaves the drafter enough of the prompt to read ahead."""
        rest, ahead = request.known - stored - n, self._speculation.reads_ahead
        return max(n - (ahead - rest) if 0 < rest < ahead else n, 0)

    def _publish(self, request: Request, upto: int) -> None:
        if upto > request.cached or self._speculation.keyed_ahead or self._checkpoints is not None:
            self.manager.register(request, upto)
            request.cached = max(request.cached, upto)

    def _content(self, request: Request, given: int = 0) -> int:
        return request.cached

    def _preempt(self, plan: Plan, victim: Request, served: Request, given: int) -> None:
        super()._preempt(plan, victim, served, given)
        if given:
            self._inputs += given + self._speculation.draft_slots
        self._drafts.pop(victim, None)
        victim.stale, victim.placeholders, victim.cached, victim.drafts = victim.inflight, 0, 0, 0

    def _admissions(self, plan: Plan, cap: int | None, left: int) -> None:
        self._served = bool(plan.prefill)
        super()._admissions(plan, cap, left)
        while self._aside:
            self.waiting.put_back(self._aside.pop())

    def _first_chunk(self, request: Request, hit: int, cap: int | None, left: int) -> int:
        """Where only one token is left to compute and all others decode, it is made as wide as a decode."""
        room = min(left, self._room)
        want, drafts = request.known - hit, self._speculation.tokens
        padded = False
        if drafts and want == 1 and not self._prompting and (self._served or hit):
            wide = 1 + drafts
            if hit + wide < self.rules.max_model_len:
                if wide > room:
                    return 0
                want, padded = wide, True
        want = capped(want, cap)
        if want > room and not self.rules.enable_chunked_prefill:
            return 0
        tokens = min(want, room)
        if self._checkpoints is not None and tokens > 0:
            tokens = self._checkpoints.chunk_of(request, hit, tokens)
            if not tokens:
                return 0
            if padded and tokens != 1 + drafts:
                tokens = 1
        tokens = self._short_of_end(request, hit, tokens)
        self._unready = not tokens
        return tokens

    def _stands_aside(self) -> bool:
        if not (self._unready and self.rules.release.go_on):
            return False
        self._unready = False
        self._aside.append(self.waiting.take())
        return True

    def _take_in(self, plan: Plan, request: Request, hit: int, tokens: int) -> None:
        super()._take_in(plan, request, hit, tokens)
        self._inputs -= tokens + self._speculation.draft_slots
        request.cached = max(hit, min(hit + tokens, request.known))
        if hit + tokens > request.known:
            self._drafts[request] = hit + tokens - request.known

    def _sum_up(self, plan: Plan) -> None:
        """A request computes a token that it generates as soon as everything known is computed. Drafts are
        verified like a prompt that follows that token: their context is read only once."""
        plan.drafts = self._drafts
        admitted = {request for request, _ in plan.admitted}
        prefill, contexts = [], []
        for request, start, n in plan.prefill:
            if request.prefilling or request in admitted:
                prefill.append((request, start, n))
            else:
                contexts.append(start + 1)
                prefill.append((request, start + 1, n - 1))
        plan.decodes, plan.decode_context = len(contexts), sum(contexts)
        plan.count_prefill(prefill)
        tokens = {request: n for request, _, n in plan.prefill}
        filled = self.manager.filled
        plan.stored = sum(filled(r, r.computed + tokens.get(r, 0)) for r in self.running.values())
