"""The simulated lanes beside servers, all fed by one source of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from kvtui.comparison.experiment import Experiment
from kvtui.live.poll import now_s
from kvtui.live.report import BEHIND_S
from kvtui.live.watch import Snapshot
from kvtui.live.whatif.feed import Feed
from kvtui.live.whatif.lane import FedLane
from kvtui.live.whatif.tail import WARM_S, Requests
from kvtui.traces.workload import Workload
from kvtui.units import picoseconds

GIVEN: Final = "Simulated lanes get the requests of {name}, at the times when they came."
BEHIND: Final = (
    "Simulated lanes are {behind:,.0f} s behind, where the oldest request came that still has no end; pause, "
    "and they come up to the moment that is shown."
)
OTHER: Final = (
    "The server has memory for {pool:,.0f} tokens now; lanes keep the {first:,.0f} that it had at the start."
)
FORGOTTEN: Final = (
    "Which prompts of the first {forgotten:,} requests begin alike is forgotten: lanes cannot go back there, "
    "and one that still stands there finds none of them cached."
)
LATE: Final = "{late:,} requests of {name} became known too late: they come later than they did."


class WhatIf:
    """Lanes of an experiment, made of the workload as far as it is known at the start: no request."""

    def __init__(
        self,
        requests: Requests,
        experiment: Callable[[Workload], Experiment],
        *,
        pool: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`pool` is how many tokens the server has room for now, where the lanes have as many."""
        now = now_s()
        self.start_s = min(max(requests.since_s, now - WARM_S), now)  # of time 0
        self._requests = requests
        self._pool, self._first_pool = pool, pool()
        self.feed = Feed(requests, start_s=self.start_s)
        self.experiment = experiment(self.feed.told.workload)
        self.lanes = [
            FedLane(lane, self.feed, model=self.experiment.model_label, gpu=self.experiment.gpu_label)
            for lane in self.experiment.build(watched=False)
        ]
        self.histories = [lane.checkpoints() for lane in self.lanes]
        self.feed.read()
        self.catch_up()

    def start(self) -> None:
        self.feed.start()

    def close(self) -> None:
        self.feed.close()

    @property
    def now_ps(self) -> int:
        return picoseconds(now_s() - self.start_s)

    def catch_up(self) -> None:
        """All lanes as far as they can."""
        for lane in self.lanes:
            lane.catch_up()

    def snapshots(self, lanes: Sequence[Any], now_ps: int) -> tuple[Snapshot, ...]:
        """Of its lanes or former states of them, beside servers as they were at `now_ps`."""
        notes = tuple(self.warnings())
        return tuple(replace(lane.snapshot_at(now_ps), notes=notes) for lane in lanes)

    def told(self, behind_s: float) -> Iterator[str]:
        """Sentences on how the lanes stand, the most important first."""
        if self.feed.problem:
            yield self.feed.problem
        if behind_s >= BEHIND_S:
            yield BEHIND.format(behind=behind_s)
        yield from self.warnings()
        yield GIVEN.format(name=self._requests.name)

    def warnings(self) -> Iterator[str]:
        """Why the lanes have not quite the requests that the server has."""
        if self.feed.problem:
            yield self.feed.problem
        pool, first = self._pool(), self._first_pool
        if pool is not None and first is not None and pool != first:
            yield OTHER.format(pool=pool, first=first)
        if self.feed.late:
            yield LATE.format(late=self.feed.late, name=self._requests.name)
        if self.feed.forgotten:
            yield FORGOTTEN.format(forgotten=self.feed.forgotten)
        yield from self._requests.doubts()
