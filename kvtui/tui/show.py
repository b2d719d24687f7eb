"""What the stage plays: an experiment that is simulated now, or one that was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from kvtui.answers.report import summary
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import Heading, heading_of
from kvtui.comparison.lane import Lane as ExperimentLane
from kvtui.comparison.player import History, Lane
from kvtui.frames.frame import LaneInfo
from kvtui.live.filming import LiveFilming
from kvtui.live.watch import Snapshot
from kvtui.recording import Past, RecordedLane, Recording
from kvtui.recording.filming import Filming
from kvtui.recording.report import report_of

Films: TypeAlias = Filming | LiveFilming
Playable: TypeAlias = "Experiment | Recording | Show"


class Cast(NamedTuple):
    """Lanes at their start, and how to go back with each."""

    infos: tuple[LaneInfo, ...]
    lanes: Sequence[Lane]
    histories: Sequence[History]
    reached_ps: int = 0  # what can be gone to at once


class Show(Protocol):
    """Something that can be played as often as one likes."""

    @property
    def heading(self) -> Heading: ...

    @property
    def experiment(self) -> Experiment | None:
        """What could be changed; None where nothing can."""
        ...

    @property
    def fixed(self) -> str:
        """Why nothing can be changed, where it cannot."""
        ...

    @property
    def edge_ps(self) -> int | None:
        """Now, where time goes on by itself; None where it is moved by the player."""
        ...

    def cast(self) -> Cast:
        """Everything at its start."""
        ...

    def snapshots(self, lanes: Sequence[Any]) -> tuple[Snapshot, ...]:
        """What is known of real servers at this moment."""
        ...

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        """Sentences in place of those about simulated lanes, the most important first; none without need."""
        ...

    def close(self) -> None:
        """What was cast is not played any more."""
        ...

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        """What the run says, from the lanes as they stand."""
        ...

    def watch(self, at: int, lane: Any) -> None:
        """Called after every step of lane `at`."""
        ...


class _Past:
    """What is no real server now."""

    fixed = "This is a recording: what was run cannot be changed."
    edge_ps: int | None = None

    def snapshots(self, lanes: Sequence[Any]) -> tuple[Snapshot, ...]:
        return ()

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        return ()


class Simulation(_Past):
    """An experiment that runs here; `filming` records it."""

    def __init__(self, experiment: Experiment, filming: Filming | None = None) -> None:
        self.experiment: Experiment | None = experiment
        self.heading = heading_of(experiment)
        self._made = experiment
        self._filming = filming
        self._lanes: tuple[ExperimentLane, ...] = ()

    def cast(self) -> Cast:
        self.close()
        self._lanes = lanes = self._made.build()
        for at, lane in enumerate(lanes):
            self.watch(at, lane)
        return Cast(tuple(lane.info for lane in lanes), lanes, [Checkpoints(lane) for lane in lanes])

    def close(self) -> None:
        """Give back what lanes hold of a device."""
        for lane in self._lanes:
            lane.close()

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return summary(self._made, lanes)

    def watch(self, at: int, lane: Any) -> None:
        if self._filming is not None:
            self._filming.take(lane)


class Replay(_Past):
    """A recording."""

    experiment: Experiment | None = None

    def __init__(self, recording: Recording) -> None:
        self.heading = recording.heading
        self._recording = recording

    def cast(self) -> Cast:
        tracks = [track for track in self._recording.tracks if len(track)]
        lanes = [RecordedLane(track) for track in tracks]
        infos, pasts = tuple(track.info for track in tracks), [Past(track) for track in tracks]
        return Cast(infos, lanes, pasts, max(track.piece(len(track) - 1).now_ps for track in tracks))

    def close(self) -> None:
        """Nothing is held."""

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return report_of(self._recording)

    def watch(self, at: int, lane: Any) -> None:
        """There is nothing new to see."""

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        live = self.heading.label == "live"
        return (
            ("Recorded from real servers: what they published, at the times when it was seen.",)
            if live
            else ()
        )


def show_of(what: Playable, films: Films | None) -> Show:
    """How something is shown."""
    if isinstance(what, Experiment):
        return Simulation(what, films if isinstance(films, Filming) else None)
    return Replay(what) if isinstance(what, Recording) else what
