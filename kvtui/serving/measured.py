"""Seconds that somebody measured: a lane's step times, and how an engine takes them instead of a model's.

Whoever carries a lane's steps out appends what each took. Every other engine of the same lane (the one on the
screen, one that goes back in time, one in a recording) takes the times from here and needs no device.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kvtui.comparison.lanes import LaneSpec
    from kvtui.serving.engine import Engine
    from kvtui.serving.plan import Plan


@dataclass(frozen=True, slots=True)
class StepMeans:
    """Seconds of a lane's step on average; None is what nobody can tell."""

    lane: str  # by name
    measured_s: float
    all_layers_s: float  # extrapolated from the layers that have tensors
    model_s: float | None  # derived: with all else as it is predicted


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What a device says at a moment; None is what it does not say. Memory and driver figures are those of
    the whole device, in four parts: the tensors of the lanes, what their library keeps beyond them, others,
    free."""

    label: str  # "NVIDIA H100", "CPU"
    attention: str  # the kernel in use, "" before the first step
    layers: tuple[int, int]  # real ones, of the model's
    checked: int  # requests whose reads were compared
    failed: int
    verified: bool  # whether anything is compared at all
    pool_bytes: int
    reserved_bytes: int | None = None
    other_bytes: int | None = None
    free_bytes: int | None = None
    process_bytes: int | None = None  # most main memory that this process has had, where the device is a CPU
    busy_pct: int | None = None
    power_w: float | None = None
    energy_j_per_token: float | None = None
    temperature_c: int | None = None
    clock_mhz: int | None = None
    held_back: tuple[str, ...] | None = None  # why it is slower than it could be
    driver_lost: bool = False  # it answered once, and does so no more
    steps: tuple[StepMeans, ...] = ()  # of the lanes that have begun
    predicted_for: str = ""  # whose times make `model_s` of them
    notes: tuple[str, ...] = ()  # what a user has to know about what is written


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
        self.wait: Callable[[int], None] = _no_wait  # until `ready(step)`
        self.ended: Callable[[], None] = _nothing  # says that the last step is done

    def ready(self, step: int) -> bool:
        """Whether `duration` would answer about this step at once, be it with an error."""
        return step < len(self.ps) or self.complete

    def duration(self, engine: Engine, plan: Plan) -> int:
        """See `StepClock`. Waits for a time that is not known yet; raises what ended the measuring."""
        self.seen = max(self.seen, plan.step + 1)
        if not self.ready(plan.step):
            self.wait(plan.step)
        if plan.step < len(self.ps):
            return self.ps[plan.step]
        assert self.failure is not None, f"step {plan.step} is never measured"
        raise self.failure


class Backend(Protocol):
    """Carries out the steps of lanes with real tensors."""

    @property
    def device_label(self) -> str:
        """The hardware, as in "CPU" or "NVIDIA H100"."""
        ...

    def slot_bytes(self, spec: LaneSpec) -> int:
        """Bytes that a slot of the lane really takes."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was decided about the run because of the device."""
        ...

    def state(self) -> DeviceState:
        """The device now; cheap enough for every frame."""
        ...

    def carry(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """Make every step of this engine a measured one, whoever steps it."""
        ...

    def lead(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """Step this engine in the background, a little ahead of those that ask for the times."""
        ...


def _nothing() -> None:
    """There is nothing to do."""


def _no_wait(step: int) -> None:
    """Nobody measures any more."""
