"""A lane: an engine that replays a workload, with what a screen needs to know about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.systems import Manager
from kvtui.frames.counts import LaneInfo
from kvtui.frames.slo import NO_LIMITS, Slo
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.quiet import quiet_steps
from kvtui.serving.request import Request

if TYPE_CHECKING:
    from kvtui.frames.camera import Camera
    from kvtui.frames.chronicle import Chronicle
    from kvtui.frames.frame import Frame
    from kvtui.serving.measured import StepTimes


class Lane:
    """One engine with what the screen needs to know about it."""

    def __init__(
        self,
        engine: Engine,
        manager: Manager,
        info: LaneInfo,
        spec: LaneSpec,
        *,
        watched: bool,
        times: StepTimes | None = None,
        slo: Slo = NO_LIMITS,
    ) -> None:
        self.engine = engine
        self.info = info
        self.spec = spec
        self.times = times  # where they are measured
        self._camera = _camera(engine, manager, slo) if watched else None

    @property
    def now_ps(self) -> int:
        """Virtual time."""
        return self.engine.now_ps

    @property
    def next_ps(self) -> int:
        """When the next step starts."""
        return self.engine.next_ps

    @property
    def done(self) -> bool:
        return self.engine.done

    @property
    def step_count(self) -> int:
        """Scheduler steps done."""
        return self.engine.scheduler.step

    @property
    def chronicle(self) -> Chronicle | None:
        """What happened so far; only of a lane that is watched."""
        return self._camera.chronicle if self._camera is not None else None

    @property
    def quiet(self) -> int:
        """Steps from now on in which tokens only fill blocks that are there, see `quiet_steps`."""
        return quiet_steps(self.engine)

    @property
    def ended(self) -> int:
        """Requests that are through, finished or refused."""
        return self.engine.results.finished + len(self.engine.results.refusals)

    @property
    def ready(self) -> bool:
        """Whether the next step can be done at once: its time is computed, or measured by now."""
        return self.times is None or self.engine.clock is not self.times or self.times.ready(self.step_count)

    def inherit(self, other: Lane, *, restarted: Sequence[Request]) -> None:
        """Go on in the story of another lane, whose requests of `restarted` have to begin anew."""
        assert self._camera is not None
        assert other._camera is not None
        self._camera.inherit(other._camera, restarted)

    def step(self, limit: int = 1) -> bool:
        """At most `limit` scheduler steps in one call; False when nothing is left to do."""
        return self.engine.step(limit)

    def close(self) -> None:
        """Give back what a device holds for it."""
        if self.times is not None:
            self.times.stop()

    def run(self, calls: int = UNLIMITED) -> bool:
        """To the end, or at most so many leaps and full steps; whether something is left to do."""
        going = self.engine.run(calls)
        if not going and self.times is not None:
            self.times.ended()
        return going

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        """A picture of now; only of a lane that is watched."""
        assert self._camera is not None, "this lane is not watched"
        return self._camera.frame(rows=rows, events=events)


def _camera(engine: Engine, manager: Manager, slo: Slo) -> Camera:
    """Loaded when somebody looks, as no camera is needed to count."""
    from kvtui.frames.camera import Camera

    return Camera(engine, manager, slo)
