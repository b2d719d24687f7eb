"""A scene while it plays: a lane that runs to the step at which something is to be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.frames.frame import Frame
from kvtui.serving.request import Request
from kvtui.tui.view.cells import Kind

WATCHED = 60  # pictures from the start of a scene to its point, while it is watched


@dataclass(frozen=True)
class Pointing:
    """What is pointed at: blocks (from 0) that stay lit, the one a line leads to, the numbers of the text,
    the one large figure, and the shapes before the lines of text."""

    lit: frozenset[int]
    at: int
    values: dict[str, str]
    figure: str
    unit: str = ""
    swatches: tuple[Kind | None, ...] = ()


@dataclass
class Moment:
    """A lane after a step, and what its running requests had before it: blocks and stored tokens."""

    lane: Lane
    tables: dict[int, tuple[int, ...]] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)

    @property
    def running(self) -> list[Request]:
        return list(self.lane.engine.scheduler.running.values())

    def stored_now(self, request: Request) -> int:
        return request.stored(self.lane.step_count)

    def note(self) -> None:
        """Remember how things are before the next step."""
        self.tables = {r.number: tuple(r.table) for r in self.running}
        self.stored = {r.number: self.stored_now(r) for r in self.running}


@dataclass(frozen=True)
class TourScene:
    """`build` makes the world for a grid of so many rows, `stop` tells the step, `point` what is seen."""

    key: str
    build: Callable[[int], Experiment]
    stop: Callable[[Moment, int], bool]
    point: Callable[[Moment], Pointing]


class Act:
    """One scene at one size. It opens at its point and can be watched from its start."""

    steps: int  # from the start to the point
    point: Pointing  # what is seen there

    def __init__(self, scene: TourScene, rows: int) -> None:
        self.scene = scene
        self.rows = rows
        self._experiment = scene.build(rows)
        self._begin()
        while not scene.stop(self._moment, rows):
            self._step()
        self.steps = self._moment.lane.step_count
        self.point = scene.point(self._moment)

    def _begin(self) -> None:
        self._moment = Moment(self._experiment.build()[0])

    def _step(self) -> None:
        self._moment.note()
        going = self._moment.lane.step()
        assert going, f"{self.scene.key} never comes to its point"

    @property
    def lane(self) -> Lane:
        return self._moment.lane

    @property
    def frame(self) -> Frame:
        return self.lane.frame()

    @property
    def there(self) -> bool:
        """Whether it has come to its point."""
        return self.lane.step_count >= self.steps

    def rewind(self) -> None:
        """Back to the start, to be watched."""
        self._begin()

    def advance(self) -> None:
        """On by one picture, at most to the point."""
        for _ in range(max(1, self.steps // WATCHED)):
            if self.lane.step_count < self.steps:
                self._step()
