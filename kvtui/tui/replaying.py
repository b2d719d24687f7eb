"""A recording on the stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtui.comparison.experiment import Experiment
from kvtui.recording import Past as Tape
from kvtui.recording import RecordedLane, Recording
from kvtui.recording.report import report_of
from kvtui.tui.show import Cast, Past


class Replay(Past):
    """A recording."""

    experiment: Experiment | None = None

    def __init__(self, recording: Recording) -> None:
        self.heading = recording.heading
        self._recording = recording

    def cast(self) -> Cast:
        tracks = [track for track in self._recording.tracks if len(track)]
        lanes = [RecordedLane(track) for track in tracks]
        infos, pasts = tuple(track.info for track in tracks), [Tape(track) for track in tracks]
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
