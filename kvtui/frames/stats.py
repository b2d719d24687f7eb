"""Shares that add up, and percentiles that say over how many."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import fsum

from kvtui.frames.counts import Percentiles, Split
from kvtui.percentile import percentile
from kvtui.units import PS_PER_S

SHARE_DIGITS = 3  # decimals of a share in per cent


def shares(parts: Sequence[int], whole: int, digits: int = SHARE_DIGITS) -> list[float]:
    """Parts of `whole` in per cent, rounded so that they still add up to exactly 100 (largest remainder).

    All zero where there is no whole. The parts must add up to it.
    """
    if not whole:
        return [0.0] * len(parts)
    unit = 10**digits
    quotients = [divmod(part * 100 * unit, whole) for part in parts]
    result = [quotient for quotient, _ in quotients]
    if missing := 100 * unit - sum(result):
        remainders = [remainder for _, remainder in quotients]
        for at in sorted(range(len(parts)), key=remainders.__getitem__, reverse=True)[:missing]:
            result[at] += 1
    return [share / unit for share in result]


def split(*, stored: int, final: int, held: int, hole: int, cached: int, free: int, reserves: bool) -> Split:
    """Where memory is. Slots, or slots x time; `free` includes `hole` and `cached`, `held` includes `stored`.

    A manager that `reserves` holds slots for tokens to come (up to `final`) and some that none will fill;
    what a paged one holds beyond `stored` are unfilled block ends.
    """
    reserved = max(final - stored, 0) if reserves else 0
    rest = held - stored - reserved
    parts = [stored, reserved, rest if reserves else 0, hole, 0 if reserves else rest, cached]
    return Split(*shares([*parts, free - hole - cached], held + free))


def percentiles(durations: array[int] | array[float]) -> Percentiles:
    """Mean and percentiles (linear interpolation) of durations in ps, as seconds."""
    if not durations:
        return Percentiles(None, None, None, None, 0)
    p50, p90, p99 = (at / PS_PER_S for at in percentile(durations, 50, 90, 99))
    total = sum(durations) if durations.typecode == "q" else fsum(durations)
    return Percentiles(total / len(durations) / PS_PER_S, p50, p90, p99, len(durations))
