"""One moment of a comparison as data: the report so far, and what each lane shows now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtui.answers.report import DIGITS, summary
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.frames.frame import Frame
from kvtui.units import picoseconds

ROWS = 64  # of each queue
EVENTS = 50


def stand_at(lanes: Sequence[Lane], time_s: float) -> None:
    """Do all steps of all lanes that start before a virtual time; infinity takes them to their ends."""
    if time_s == float("inf"):
        for lane in lanes:
            lane.run()
        return
    target = picoseconds(time_s)
    for lane in lanes:
        while not lane.done and lane.next_ps < target and lane.step():
            pass


def snapshot(experiment: Experiment, lanes: Sequence[Lane]) -> dict[str, Any]:
    """The report as of now (schema 1, see `report`), and in each lane under `now` what its frame holds."""
    data = summary(experiment, lanes)
    for entry, lane in zip(data["lanes"], lanes, strict=True):
        entry["now"] = _now(lane.frame(rows=ROWS, events=EVENTS))
    return data


def _now(frame: Frame) -> dict[str, Any]:
    counters = frame.counters
    return {
        "time_s": round(frame.time_s, DIGITS),
        "step": frame.step,
        "done": frame.done,
        "running": counters.running,
        "waiting": counters.waiting,
        "preempted_waiting": counters.preempted_waiting,
        "kv_pct": counters.split._asdict(),
        "mean_stored_tokens": round(frame.mean_filled, DIGITS),
        "waiting_requests": [_rounded(row._asdict()) for row in frame.waiting],
        "running_requests": [row._asdict() for row in frame.running],
        "events": [_rounded(event._asdict()) for event in frame.events],
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, DIGITS) if isinstance(value, float) else value for key, value in row.items()}
