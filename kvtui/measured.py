"""Seconds that somebody measured: a lane's step times, and how an engine takes them instead of a model's.

Whoever carries a lane's steps out appends what each took. Every other engine of the same lane (the one on the
screen, one that goes back in time, one in a recording) takes the times from here and needs no device.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kvtui.engine import Engine
    from kvtui.lanes import LaneSpec
    from kvtui.plan import Plan


class StepClock(Protocol):
    """Tells how long a step takes, where no cost model does. The engine then does one step at a time."""

    def duration(self, engine: Engine, plan: Plan) -> int:
        """Time of the step in ps; everything is decided, nothing has ended yet."""
        ...


class StepTimes:
    """Times of the scheduler steps 0, 1, ... of one lane in ps, as far as they are known.

    `report` gives the part of the lane's report that tells who measured.
    """

    def __init__(
        self, times: Iterable[int] = (), *, report: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        self.ps = array("q", times)
        self.failure: Exception | None = None  # why there are no more
        self.complete = False  # nothing more will come
        self.seen = 0  # steps that were asked for
        self.report = report if report is not None else dict
        self.stop: Callable[[], None] = _nothing  # ends the measuring and gives its memory back

    def ready(self, step: int) -> bool:
        """Whether `duration` would answer about this step at once, be it with an error."""
        return step < len(self.ps) or self.complete

    def duration(self, engine: Engine, plan: Plan) -> int:
        """See `StepClock`. Raises what ended the measuring; asking for a time not yet known is a bug."""
        self.seen = max(self.seen, plan.step + 1)
        if plan.step < len(self.ps):
            return self.ps[plan.step]
        assert self.failure is not None, f"step {plan.step} has not been measured"
        raise self.failure


class Backend(Protocol):
    """Carries out the steps of lanes with real tensors."""

    @property
    def device_label(self) -> str:
        """The hardware, as in "CPU" or "NVIDIA H100"."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was decided about the run because of the device."""
        ...

    def carry(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """Make every step of this engine a measured one, whoever steps it."""
        ...

    def lead(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """Step this engine in the background, a little ahead of those that ask for the times."""
        ...

    def allocated(self, engine: Engine, spec: LaneSpec) -> int:
        """Bytes that the KV memory of the lane takes on the device."""
        ...


def _nothing() -> None:
    """There is nothing to stop."""
