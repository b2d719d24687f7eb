"""Who runs and who waits, and what follows from it: how requests come, go and change places.

What all decodes have stored is known without looking at each: a decode stores one token a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.memory.protocol import MemoryManager
from kvtui.serving.finishes import Finishes
from kvtui.serving.plan import PrefixCounters
from kvtui.serving.request import Phase, Request
from kvtui.serving.rules import Rules
from kvtui.serving.speculation import SpecCounters
from kvtui.serving.waiting import queue_for


class Queues:
    """The queues of one lane. Knows no time, only steps."""

    leaps_observed = True  # whether an observer can be told of a leap

    def __init__(self, rules: Rules, manager: MemoryManager) -> None:
        self.rules = rules
        self.manager = manager
        self.waiting = queue_for(rules.policy)
        self.running: dict[int, Request] = {}  # admission number -> request: batch order
        self.step = 0
        self.prefix = PrefixCounters()
        self.spec = SpecCounters()
        self.preemptions = 0
        self.preempted_waiting = 0  # requests in the queue that ran before
        self.final = 0  # slots that the running requests will have filled in the end
        self.aside: Sequence[Request] = ()  # preempted, not in the queue; or done, and still holding memory
        self._chunking: list[Request] = []  # running requests in mid-prompt, in batch order
        self._offsets = 0  # sum over the decodes of `offset`
        self._orders = 0
        self._finishes = Finishes()
        self._recounts = not rules.release.count_at_admission
        self._watermark = rules.watermark_blocks(manager.blocks)
        self.blocked = False  # the head was refused in the last full step and nothing changed since
        self._wish: tuple[int, int] | None = None  # (block number, key) that would help the blocked head
        self._tried: tuple[Request, int] | None = None  # blocked head and its hit tokens

    # ---- asking

    @property
    def active(self) -> bool:
        """Whether anything runs or waits."""
        return bool(self.running or self.waiting)

    @property
    def batch(self) -> int:
        """Requests that run, however many sequences each has."""
        return len(self.running)

    @property
    def settled(self) -> bool:
        """Whether no result of the model is outstanding."""
        return True

    @property
    def open(self) -> bool:
        """Whether a new arrival could change what the next steps do or what is measured of them."""
        if not self.waiting or self.rules.policy == "priority":
            return True
        capped = self.rules.long_prefill_token_threshold > 0 and not self.rules.reserve_full
        return capped and len(self.running) < self.rules.running_limit

    @property
    def stored(self) -> int:
        """Slots filled now by the running requests, shared ones counted for each."""
        decodes = len(self.running) - len(self._chunking)
        return self.filled(self._offsets + decodes * self.step + sum(r.computed for r in self._chunking))

    @property
    def decode_context(self) -> int:
        """Tokens that a decode-only step would read now, the new ones included."""
        return self._offsets + len(self.running) * (self.step + 1)

    def filled(self, tokens: int) -> int:
        """Slots that the running requests fill, with so many tokens among them."""
        return tokens * self.manager.tables + len(self.running) * self.manager.beside - self.manager.left

    def horizon(self) -> int:
        """Steps that can be done in one leap as far as the queues go; 0 = a full step is due."""
        if not self.running or self._chunking or not self._closed():
            return 0
        return self._finishes.first() - self.step + 1

    def _closed(self) -> bool:
        """Whether nobody can be admitted as long as all running requests just decode."""
        if not self.waiting or len(self.running) >= self.rules.running_limit:
            return True
        if not self.blocked:
            return False
        if self._wish is not None and self._wish[1] in self._hot_keys(self._wish[0]):
            return False
        # Where every look-up counts, what it finds may shrink.
        return self.rules.release.count_at_admission or self._tried is None or not self._tried[1]

    def _hot_keys(self, at: int) -> set[int]:
        """Keys of block number `at` that decodes may publish."""
        return self.manager.hot_keys(at)

    # ---- requests come and go

    def rest(self) -> None:
        """Nothing runs or waits for a while."""

    def add(self, request: Request) -> None:
        """A new request, at the end of the queue (or at its place by priority)."""
        if self.open:
            self.blocked = False
        self.waiting.add(request)

    def abort(self, request: Request) -> None:
        """The client went away."""
        if request.phase is Phase.RUNNING:
            content = self._content(request)
            self._leave(request)
            self.manager.release(request, content)
        else:
            self.waiting.remove(request)
            self.preempted_waiting -= request.phase is Phase.PREEMPTED
        request.move(Phase.ABORTED)
        self.blocked = False

    # ---- within

    def _content(self, request: Request, given: int = 0) -> int:
        """Tokens of a running request whose full blocks stay cached when it gives them back; `given` of
        them were scheduled in this step."""
        return request.stored(self.step) + given

    def _seat(self, request: Request) -> None:
        """Into the batch."""
        request.order = self._orders
        request.chunking = True
        self._orders += 1
        self.running[request.order] = request
        self._chunking.append(request)
        self.final += request.prompt + request.output + self.manager.beside

    def _leave(self, request: Request) -> None:
        """Out of the batch."""
        if request.chunking:
            self._chunking.remove(request)
        else:
            self._offsets -= request.offset
            self.manager.stop(request)
        del self.running[request.order]
        request.order = -1
        request.chunking = False
        self.final -= request.prompt + request.output + self.manager.beside

    def _decode_from(self, request: Request, step: int) -> None:
        self._chunking.remove(request)
        request.decode_from(step)
        self._offsets += request.offset
        self.manager.start(request)
        self._finishes.add(request)

    def _delay(self, request: Request) -> None:
        self.manager.stop(request)
        request.delay()
        self._offsets -= 1
        self.manager.start(request)
        self._finishes.add(request)

    def _end(self, request: Request) -> None:
        stored = request.stored(self.step)
        self._leave(request)
        self.manager.release(request, stored)
        request.generated = request.output
        request.computed = stored
        request.move(Phase.FINISHED)
