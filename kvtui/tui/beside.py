"""A server as it was recorded, beside lanes that are simulated with the requests it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from kvtui.comparison.experiment import Experiment
from kvtui.errors import RecordingError
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.live.watch import Snapshot
from kvtui.recording import Past, RecordedLane, Recording, Track
from kvtui.tui.show import Cast, Simulation
from kvtui.units import seconds

TOLD: Final = (
    "{title} is what the server did; the other lanes simulate the same requests.",
    "kvtui check prints how far off they are.",
)


class ShiftedLane(RecordedLane):
    """A recorded lane whose time begins later than its recording."""

    def __init__(self, track: Track, at: int, start_ps: int) -> None:
        super().__init__(track, at)
        self._start_ps = start_ps

    @property
    def now_ps(self) -> int:
        return max(super().now_ps - self._start_ps, 0)

    @property
    def next_ps(self) -> int:
        return max(super().next_ps - self._start_ps, 0)

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        frame, start_s = super().frame(rows=rows, events=events), seconds(self._start_ps)
        batch = tuple((time_s - start_s, n) for time_s, n in frame.batch if time_s >= start_s)
        return replace(frame, time_s=max(frame.time_s - start_s, 0.0), batch=batch)


class ShiftedPast(Past):
    """Its former states."""

    def __init__(self, track: Track, first: int, start_ps: int) -> None:
        super().__init__(track)
        self._shifted, self._first, self._start_ps = track, first, start_ps

    def at_step(self, step: int) -> ShiftedLane:
        return self._at(self._shifted.at_step(step))

    def at_time(self, now_ps: int) -> ShiftedLane:
        return self._at(self._shifted.at_time(now_ps + self._start_ps))

    def _at(self, number: int) -> ShiftedLane:
        return ShiftedLane(self._shifted, max(number, self._first), self._start_ps)


class Beside:
    """The server is the first lane. Both begin with the first request: the recording at the look before the
    first in which something ran."""

    experiment: Experiment | None = None
    fixed = "Beside a real server nothing can be changed; kvtui check takes the options of kvtui run."
    edge_ps: int | None = None

    def __init__(self, recording: Recording, experiment: Experiment) -> None:
        """Raises RecordingError where nothing ran while the recording was made."""
        self._track = recording.tracks[0]
        self._simulation = Simulation(experiment)
        self.heading = self._simulation.heading
        self._first = _before_first_request(self._track, recording)
        self._start_ps = self._track.piece(self._first).now_ps

    def cast(self) -> Cast:
        infos, lanes, histories, _ = self._simulation.cast()
        server = ShiftedLane(self._track, self._first, self._start_ps)
        past = ShiftedPast(self._track, self._first, self._start_ps)
        return Cast((self._info, *infos), [server, *lanes], [past, *histories])

    @property
    def _info(self) -> LaneInfo:
        return self._track.info

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return self._simulation.report(lanes[1:])

    def watch(self, at: int, lane: Any) -> None:
        """Nothing is recorded."""

    def close(self) -> None:
        """What was cast is not played any more."""
        self._simulation.close()

    def snapshots(self, lanes: Sequence[Any]) -> tuple[Snapshot, ...]:
        return ()

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        return tuple(text.format(title=self._info.title) for text in TOLD)


def _before_first_request(track: Track, recording: Recording) -> int:
    for number in range(len(track)):
        if track.frame(number, rows=0, events=0).counters.running:
            return max(number - 1, 0)
    raise RecordingError(f"nothing ran while {recording.path} was made")
