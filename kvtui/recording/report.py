"""The report of a recorded run, from the recording alone."""

from __future__ import annotations

from typing import Any

from kvtui.answers.report import counted
from kvtui.answers.verdict import verdict
from kvtui.recording.reader import Recording, Track
from kvtui.units import seconds

_NOT_RECORDED: dict[str, Any] = {
    "waiting_for_memory_pct": None,
    "speculation": None,
    "busy_s": None,
    "rejections": [],
}
_CUT = "the recording ends before the run did"


def report_of(recording: Recording) -> dict[str, Any]:
    """The very report of the run where it was recorded to its end; else one of the last frames, in which is
    null what frames do not tell."""
    if recording.report is not None:
        return recording.report
    blank = recording.told("report")
    lanes = [_lane(lane, track) for lane, track in zip(blank["lanes"], recording.tracks, strict=False)]
    told = blank["verdict"] if blank["trace"] is None else verdict(lanes)  # of servers there is none
    return {**blank, "lanes": lanes, "verdict": told}


def _lane(blank: dict[str, Any], track: Track) -> dict[str, Any]:
    """`blank` is what was known of the lane before its first step."""
    last = len(track) - 1
    frame, place = track.frame(last), track.piece(last)
    total = blank["requests"]["total"]
    figures = counted(track.info, frame.counters, total=total, time_s=seconds(place.now_ps), steps=place.step)
    return {**blank, **figures, **_NOT_RECORDED, "notes": [*blank["notes"], _CUT]}
