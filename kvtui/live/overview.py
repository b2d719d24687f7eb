"""What a recording of real servers says, in a line each."""

from __future__ import annotations

from kvtui.recording import Recording, Track
from kvtui.terms import FINISHED, MEAN_BATCH, PEAK_BATCH, PREEMPTED
from kvtui.units import seconds

NA = "n/a"


def of_servers(recording: Recording) -> bool:
    """Whether real servers were recorded, and not a simulation."""
    return all(track.info.label == "live" for track in recording.tracks)


def overview(recording: Recording) -> str:
    """A line a server, from its last look."""
    return "\n".join(map(_line, recording.tracks))


def _line(track: Track) -> str:
    last = len(track) - 1
    counters = track.frame(last, rows=0, events=0).counters
    time_s = seconds(track.piece(last).now_ps)
    pairs = (
        (MEAN_BATCH.name, NA if counters.batch_mean is None else f"{counters.batch_mean:.1f}"),
        (PEAK_BATCH.name, _count(counters.batch_peak)),
        (PREEMPTED.name, _count(counters.preemptions)),
        (FINISHED.name, _count(counters.finished)),
        ("output tokens", _count(counters.output_tokens)),
    )
    figures = "  ".join(f"{label} {value}" for label, value in pairs)
    return f"{track.info.title} ({track.info.subtitle}): {len(track):,} looks in {time_s:,.1f} s  {figures}"


def _count(value: int | None) -> str:
    return NA if value is None else f"{value:,}"
