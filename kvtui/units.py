"""Integer time, and figures that are cut and not rounded.

The engine counts picoseconds so that k equal steps take exactly k times one step.
"""

from __future__ import annotations

PS_PER_S = 1_000_000_000_000
PS_PER_NS = 1_000
DAY_S = 86_400
LONGEST_S = 100 * DAY_S  # of a run: 64 bits of picoseconds end after 106 days


def seconds(ps: int) -> float:
    """Picoseconds as seconds."""
    return ps / PS_PER_S


def picoseconds(s: float) -> int:
    """Seconds as picoseconds, rounded to the nearest."""
    return round(s * PS_PER_S)


def tenths(seconds: float) -> int:
    """Whole tenths of a second that a clock shows, which never runs ahead."""
    return int(seconds * 10 + 1e-6)


def kept_text(share: float | None) -> str:
    """How many requests kept the limits, of a share from 0 to 1, as it is told everywhere: `26.6%`, cut
    and not rounded, as 99.96 % are not all; `n/a` of None."""
    if share is None:
        return "n/a"
    thousandths = int(1000 * share + 1e-3)  # reports keep six digits of a share
    return "100%" if thousandths == 1000 else f"{thousandths // 10}.{thousandths % 10}%"
