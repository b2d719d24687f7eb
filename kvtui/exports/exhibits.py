"""Exhibits of runs without a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import Heading, heading_of
from kvtui.comparison.lane import Lane
from kvtui.exports import Exhibit, LaneExhibit
from kvtui.recording import RecordedLane, Recording
from kvtui.recording.report import report_of
from kvtui.units import seconds


def exhibit_of_run(experiment: Experiment, lanes: Sequence[Lane], report: Mapping[str, Any]) -> Exhibit:
    """Lanes as they stand; they must be watched ones."""
    return _exhibit(heading_of(experiment), lanes, report)


def exhibit_of_recording(recording: Recording) -> Exhibit:
    """The last frames of a recording."""
    tracks = [track for track in recording.tracks if len(track)]
    lanes = [RecordedLane(track, len(track) - 1) for track in tracks]
    return _exhibit(recording.heading, lanes, report_of(recording))


def _exhibit(heading: Heading, lanes: Sequence[Lane | RecordedLane], report: Mapping[str, Any]) -> Exhibit:
    shown = []
    for lane in lanes:
        assert lane.chronicle is not None, "this lane is not watched"
        shown.append(LaneExhibit(lane.info, lane.frame(), lane.chronicle))
    time_s = max(seconds(lane.now_ps) for lane in lanes)
    return Exhibit(heading=heading, time_s=time_s, report=report, lanes=tuple(shown))
