"""Request-level batching, the oldest baseline: a batch is formed, runs, and only then comes the next one.

Nobody joins a running batch, and whoever is done waits for the longest answer of the batch: results and
memory are given back together (as FasterTransformer did under a serving system; see Orca, OSDI 2022).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.serving.scheduler import Scheduler


class StaticScheduler(Scheduler):
    """As many requests as the memory and `max_num_seqs` allow make up a batch."""

    _thinner = False  # somebody is done, and levels were not looked at since

    def horizon(self) -> int:
        if self._thinner:
            return 0
        refused, self.blocked = self.blocked, bool(self.running)  # nobody joins a batch
        steps = super().horizon()
        self.blocked = refused
        return steps

    def end_decodes(self, also: Iterable[Request] = ()) -> Sequence[Request]:
        self._thinner = bool(super().end_decodes(also))
        if self.running:
            return ()
        done, self.aside = self.aside, ()
        for request in done:
            self.manager.release(request, request.computed)
            request.move(Phase.FINISHED)
        return done

    def full_step(self) -> Plan:
        self._thinner = False
        return super().full_step()

    def _end(self, request: Request) -> None:
        stored = request.stored(self.step)
        self._leave(request)
        request.generated, request.computed = request.output, stored
        self.aside = (*self.aside, request)

    def _admissions(self, plan: Plan, cap: int | None, left: int) -> None:
        if not self.running:
            super()._admissions(plan, cap, left)
            self.blocked = False  # those behind wait for the batch, not for memory
