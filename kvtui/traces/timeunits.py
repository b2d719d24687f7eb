"""Units that traces count time in, as nanoseconds."""

from __future__ import annotations

NS, US, MS, S = 1, 1_000, 1_000_000, 1_000_000_000
UNITS = {NS: "nanoseconds", US: "microseconds", MS: "milliseconds", S: "seconds"}
YEAR_NS = 365 * 86_400 * S

# A smallest time in one of these ranges is the present day counted from 1970 in that unit.
_TODAY = ((10**9, 10**11, S), (10**12, 10**14, MS), (10**15, 10**17, US), (10**18, 2**63, NS))


def unit_of(smallest: int, *, usual: int) -> int:
    """Nanoseconds a unit: told by size where `smallest` looks like the present day, else `usual`."""
    return next((unit for low, high, unit in _TODAY if low <= smallest < high), usual)
