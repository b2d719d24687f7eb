"""How far off the simulation is: a run of recorded traffic against what the server itself did with it.

Both sides count only the time in which something ran. What the server did comes from a recording of it
(`kvtui attach --record`), the times to first tokens from the clients' side of the recorded traffic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kvtui.errors import RecordingError
from kvtui.frames.frame import Frame
from kvtui.recording import Recording, Track
from kvtui.units import seconds


class Figure(NamedTuple):
    """One row; `error` is that of the simulation in per cent of what was measured."""

    name: str
    measured: float | None
    simulated: float | None

    @property
    def error(self) -> float | None:
        if self.measured is None or self.simulated is None or not self.measured:
            return None
        return 100 * (self.simulated / self.measured - 1)


class _Stretch(NamedTuple):
    """A time between two looks in which something ran."""

    length_s: float
    frame: Frame


def compare(recording: Recording, trace: Path, lane: Mapping[str, Any]) -> list[Figure]:
    """A lane of the headless JSON against the first server of a recording, `trace` being its traffic.

    Raises:
        RecordingError: it is none of a server, or nothing ran while it was made.
    """
    track = recording.tracks[0]
    if track.info.label != "live":
        raise RecordingError(
            f"{recording.path} is no recording of a server", hint="kvtui attach URL --record FILE makes one"
        )
    busy = list(_busy(track))
    if not busy:
        raise RecordingError(f"nothing ran while {recording.path} was made")
    first, last = track.frame(0).counters, track.frame(len(track) - 1).counters
    time_s = sum(stretch.length_s for stretch in busy)
    ttft, kv, simulated = _first_tokens(trace), lane["kv"], lane["latency"]["ttft_s"]
    return [
        Figure("batch, mean", _mean(busy, "running"), lane["batch"]["mean"]),
        Figure("batch, peak", float(last.batch_peak), float(lane["batch"]["peak"])),
        Figure("KV in use %, mean", _kv(busy), 100 - kv["free_pct"] - kv["cached_pct"]),
        Figure("preemptions", _less(last.preemptions, first.preemptions), lane["requests"]["preemptions"]),
        Figure("output tokens/s", _rate(first, last, time_s), _busy_rate(lane)),
        Figure("TTFT s, mean", _or_none(np.mean, ttft), simulated["mean"]),
        Figure("TTFT s, p50", _or_none(np.median, ttft), simulated["p50"]),
        Figure("TTFT s, p99", _or_none(lambda x: np.percentile(x, 99), ttft), simulated["p99"]),
    ]


def _busy(track: Track) -> Iterator[_Stretch]:
    for at, after in pairwise(range(len(track))):
        frame = track.frame(at)
        if frame.counters.running:
            length = seconds(track.piece(after).now_ps - track.piece(at).now_ps)
            yield _Stretch(length, frame)


def _mean(busy: list[_Stretch], name: str) -> float:
    time_s = sum(stretch.length_s for stretch in busy)
    return sum(s.length_s * float(getattr(s.frame.counters, name)) for s in busy) / time_s


def _kv(busy: list[_Stretch]) -> float | None:
    """Mean share of the memory in use, over the time in which it is known."""
    known = [
        (s.length_s, s.frame.counters.split.stored) for s in busy if s.frame.counters.split.stored is not None
    ]
    time_s = sum(length for length, _ in known)
    return sum(length * share for length, share in known) / time_s if time_s else None


def _less(last: int | None, first: int | None) -> float | None:
    return None if last is None or first is None else float(last - first)


def _rate(first: Any, last: Any, time_s: float) -> float | None:
    counted = _less(last.output_tokens, first.output_tokens)
    return None if counted is None else counted / time_s


def _busy_rate(lane: Mapping[str, Any]) -> float | None:
    return lane["output_tokens"] / lane["busy_s"] if lane["busy_s"] else None


def _first_tokens(trace: Path) -> list[float]:
    """Seconds to the first token, of the requests for which `kvtui record` wrote it down."""
    found = []
    with trace.open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line) if line.startswith("{") else {}
            value = row.get("ttft_ms")
            if isinstance(value, int | float) and _answered(row):
                found.append(value / 1000)
    return found


def _answered(row: Mapping[str, Any]) -> bool:
    """Whether a request ran to its end with a known prompt: the others say nothing of those that did."""
    return bool(row.get("prompt")) and not row.get("aborted") and (row.get("status") or 200) < 400


def _or_none(figure: Any, values: list[float]) -> float | None:
    return float(figure(values)) if values else None


def render(figures: list[Figure], *, name: str) -> str:
    """As a table."""
    lines = [f"{'':<18} {'measured':>12} {name:>14} {'error':>9}"]
    for figure in figures:
        error = "n/a" if figure.error is None else f"{figure.error:+.1f}%"
        lines.append(
            f"{figure.name:<18} {_written(figure.measured):>12} {_written(figure.simulated):>14} {error:>9}"
        )
    return "\n".join(lines)


def _written(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.3f}" if value < 10 else f"{value:,.1f}"
