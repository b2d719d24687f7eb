"""The engine of requests with several sequences: widths from the trace, time for what moves over the link."""

from __future__ import annotations

from kvtui.groups.fanout import widths
from kvtui.groups.link import Link
from kvtui.groups.request import GroupRequest
from kvtui.groups.scheduler import GroupScheduler
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.serving.cost import CostModel
from kvtui.serving.engine import Engine
from kvtui.serving.intake import Arrival, request_of
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules
from kvtui.traces.workload import Workload


class GroupEngine(Engine):
    """Replays a workload, its `samples` and `beams` columns included, by the rules of the PagedAttention
    paper. `preempt` is `GroupScheduler`'s; without a link what is swapped moves in no time."""

    def __init__(
        self,
        workload: Workload,
        rules: Rules,
        manager: ForkingMemoryManager,
        cost: CostModel,
        *,
        preempt: str = "auto",
        link: Link | None = None,
        until_ps: int | None = None,
    ) -> None:
        scheduler = GroupScheduler(rules, manager, preempt=preempt)
        super().__init__(workload, rules, manager, cost, until_ps=until_ps, scheduler=scheduler)
        self._link = link
        self._widths = widths(workload)

    def _request(self, arrival: Arrival, keys: list[int]) -> Request:
        request = request_of(arrival, keys, self.rules.max_model_len, make=GroupRequest)
        beams = self.workload.beams
        request.width = int(self._widths[arrival.number])
        request.beams = beams is not None and bool(beams[arrival.number] > 1)
        return request

    def _duration(self, plan: Plan) -> int:
        step, moved = super()._duration(plan), plan.swapped_out + plan.swapped_in
        measured = self.clock is not None
        return self._link.step(step, moved) if self._link is not None and moved and not measured else step
