"""What the stage plays: an experiment that is simulated now, or one that was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import Heading, heading_of
from kvtui.comparison.lane import Lane as ExperimentLane
from kvtui.comparison.player import History, Lane
from kvtui.frames.counts import LaneInfo

if TYPE_CHECKING:  # what the first frame of a simulation does not need is loaded when it is
    from kvtui.live.filming import LiveFilming
    from kvtui.live.watch import Snapshot
    from kvtui.recording import Recording
    from kvtui.recording.filming import Filming

Films: TypeAlias = "Filming | LiveFilming"
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


class Past:
    """What is no real server now."""

    fixed = "This is a recording: what was run cannot be changed."
    edge_ps: int | None = None

    def snapshots(self, lanes: Sequence[Any]) -> tuple[Snapshot, ...]:
        return ()

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        return ()


class Simulation(Past):
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
        from kvtui.answers.report import summary

        return summary(self._made, lanes)

    def watch(self, at: int, lane: Any) -> None:
        if self._filming is not None:
            self._filming.take(lane)


def filming_of(films: Films | None) -> Filming | None:
    """The recording of a simulation that is being made; that of servers is closed by whoever watches them."""
    if films is None:
        return None
    from kvtui.recording.filming import Filming

    return films if isinstance(films, Filming) else None
