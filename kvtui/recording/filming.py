"""Recording an experiment while it runs: what goes into the file besides frames, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any

from kvtui import __version__
from kvtui.answers.report import summary
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import heading_of
from kvtui.comparison.lane import Lane
from kvtui.errors import BackendError, RecordingError
from kvtui.recording.recorder import Recorder


class Filming:
    """One run into one file. A file that can no longer be written ends the filming, not the run: `problem`
    then says why."""

    def __init__(self, path: Path, experiment: Experiment, *, force: bool = False) -> None:
        """Open the file.

        Raises:
            RecordingError: it exists or cannot be written.
        """
        blank = experiment.build(watched=False)
        about = {
            "kvtui": __version__,
            "heading": asdict(heading_of(experiment)),
            "report": summary(experiment, blank),
        }
        self.path = path
        self.problem: str | None = None
        self._recorder: Recorder | None = Recorder(path, about, force=force)
        self._tracks = {lane.info.name: self._recorder.add(lane.info) for lane in blank}

    @property
    def on(self) -> bool:
        """Whether frames are still taken."""
        return self._recorder is not None

    def take(self, lane: Any) -> None:
        """After a step of a lane, and once before its first; a lane that is new gets a track of its own."""
        if self._recorder is not None:
            name = lane.info.name
            try:
                if name not in self._tracks:
                    self._tracks[name] = self._recorder.add(lane.info)
                self._recorder.film(self._tracks[name], lane)
            except RecordingError as error:
                self.problem = error.message
                self._recorder.close()
                self._recorder = None

    def run(
        self,
        lanes: Sequence[Lane],
        progress: Callable[[], None],
        stopped: Callable[[Lane, BackendError], None],
    ) -> None:
        """All lanes to their end, in step with each other; `progress` is called now and then. A lane whose
        device fails is `stopped`, and the others go on.

        Steps in which tokens only fill blocks that are there get no frame of their own.
        """
        for lane in lanes:
            self.take(lane)
        going = list(lanes)
        while going:
            lane = min(going, key=attrgetter("next_ps"))
            try:
                if quiet := lane.quiet:
                    lane.step(quiet)
                if not lane.step():
                    going.remove(lane)
            except BackendError as error:
                going.remove(lane)
                stopped(lane, error)
            self.take(lane)
            progress()

    def reached_by(self, lanes: Sequence[Any]) -> bool:
        """Whether all lanes stand where the recording ends; else what they tell is not its end."""
        recorder = self._recorder
        return recorder is not None and all(
            recorder.reached_by(self._tracks[lane.info.name], lane)
            for lane in lanes
            if lane.info.name in self._tracks
        )

    def finish(self, report: Mapping[str, Any] | None) -> None:
        """The run is over or left: add its report, if it has one, and close the file."""
        if self._recorder is not None:
            try:
                if report is not None:
                    self._recorder.report(report)
            except RecordingError as error:
                self.problem = error.message
            self._recorder.close()
            self._recorder = None
