"""What the stage plays: an experiment that is simulated now, or one that was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from kvtui.checkpoints import Checkpoints
from kvtui.experiment import Experiment
from kvtui.filming import Filming
from kvtui.frame import LaneInfo
from kvtui.heading import Heading, heading_of
from kvtui.player import History, Lane
from kvtui.recording import Past, RecordedLane, Recording
from kvtui.recording.report import report_of
from kvtui.report import summary

Playable: TypeAlias = Experiment | Recording


class Cast(NamedTuple):
    """Lanes at their start, and how to go back with each."""

    infos: tuple[LaneInfo, ...]
    lanes: Sequence[Lane]
    histories: Sequence[History]


class Show(Protocol):
    """Something that can be played as often as one likes."""

    @property
    def heading(self) -> Heading: ...

    @property
    def experiment(self) -> Experiment | None:
        """What could be changed; None where nothing can."""
        ...

    def cast(self) -> Cast:
        """Everything at its start."""
        ...

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        """What the run says, from the lanes as they stand."""
        ...

    def watch(self, at: int, lane: Any) -> None:
        """Called after every step of lane `at`."""
        ...


class Simulation:
    """An experiment that runs here; `filming` records it."""

    def __init__(self, experiment: Experiment, filming: Filming | None = None) -> None:
        self.experiment: Experiment | None = experiment
        self.heading = heading_of(experiment)
        self._made = experiment
        self._filming = filming

    def cast(self) -> Cast:
        lanes = self._made.build()
        for at, lane in enumerate(lanes):
            self.watch(at, lane)
        return Cast(tuple(lane.info for lane in lanes), lanes, [Checkpoints(lane) for lane in lanes])

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return summary(self._made, lanes)

    def watch(self, at: int, lane: Any) -> None:
        if self._filming is not None:
            self._filming.take(at, lane)


class Replay:
    """A recording."""

    experiment: Experiment | None = None

    def __init__(self, recording: Recording) -> None:
        self.heading = Heading(**recording.about["heading"])
        self._recording = recording

    def cast(self) -> Cast:
        tracks = [track for track in self._recording.tracks if len(track)]
        lanes = [RecordedLane(track) for track in tracks]
        return Cast(tuple(track.info for track in tracks), lanes, [Past(track) for track in tracks])

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return report_of(self._recording)

    def watch(self, at: int, lane: Any) -> None:
        """There is nothing new to see."""
