"""Request-level batching, the oldest baseline: a batch is formed, runs, and only then comes the next one.

Nobody joins a running batch, and whoever is done waits for the longest answer of the batch: results and
memory are given back together (as FasterTransformer did under a serving system; see Orca, OSDI 2022).
"""

from __future__ import annotations

from kvtui.plan import Plan
from kvtui.request import Phase, Request
from kvtui.scheduler import Scheduler


class StaticScheduler(Scheduler):
    """As many requests as the memory and `max_num_seqs` allow make up a batch."""

    @property
    def blocked(self) -> bool:
        return False  # they wait for the batch

    def commit(self, plan: Plan) -> None:
        super().commit(plan)
        plan.finished = []
        if self.aside and not self.running:
            for request in self.aside:
                self.manager.release(request, request.computed)
                request.move(Phase.FINISHED)
            plan.finished, self.aside = self.aside, ()

    def _end(self, request: Request) -> None:
        stored = request.stored(self.step)
        self._leave(request)
        request.generated, request.computed = request.output, stored
        self.aside = (*self.aside, request)

    def _admissions(self, plan: Plan, cap: int | None, left: int) -> None:
        if self.running:
            self._blocked = True  # until the batch is done
        else:
            super()._admissions(plan, cap, left)
            self._blocked = bool(self.waiting)
