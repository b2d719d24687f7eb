"""Integer time. The engine counts picoseconds so that k equal steps take exactly k times one step."""

from __future__ import annotations

PS_PER_S = 1_000_000_000_000
PS_PER_NS = 1_000


def seconds(ps: int) -> float:
    """Picoseconds as seconds."""
    return ps / PS_PER_S


def picoseconds(s: float) -> int:
    """Seconds as picoseconds, rounded to the nearest."""
    return round(s * PS_PER_S)
