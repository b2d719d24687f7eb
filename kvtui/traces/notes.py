"""What the data gives away about how it was recorded: clocks that move in steps, pauses, cut prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvtui.arithmetic import count_of, gaps, least, most
from kvtui.traces.leftout import rows
from kvtui.traces.timeunits import UNITS, S

_FEW = 4096  # rows that are enough to see it
_JITTER = 0.01  # of a step, by which a tick may be early or late
_ENOUGH = 50  # requests, before anything is concluded
_PAUSE_NS = 3600 * S
_CUT_SHARE = 0.02  # of the prompts, at exactly the greatest length
_CUT_LENGTH, _LENGTHS = 512, 20  # tokens, and different lengths, below which that says nothing


def note_on_unit(column: str, *, unit: int, last_ns: int, requests: int) -> str:
    """What a column of bare times was taken for."""
    return f"{column} counts {UNITS[unit]}: {last_ns / S:,.10g} s for {rows(requests, 'request')}"


def note_on_zone(column: str) -> str:
    """What dates without a zone were taken for."""
    return f"{column} names no zone: taken as UTC"


def notes_on_time(arrival_ns: Sequence[int], line: Sequence[int]) -> Iterator[str]:
    """Sentences about sorted arrivals."""
    if len(arrival_ns) < 2:
        return
    apart = gaps(arrival_ns)
    longest = most(apart)
    step = _step(list(apart[:_FEW]))
    if step and step == longest == least(apart):
        yield "all gaps between arrivals are equal: times may be row numbers, or made at a fixed rate"
    elif step:
        yield f"arrivals move in steps of {step / S:,.10g} s: their burstiness is that of the clock"
    if longest > _PAUSE_NS:
        after = line[list(apart).index(longest) + 1]
        where = f" before line {after}" if after else ""
        yield f"nothing arrives for {longest / S / 3600:,.1f} hours{where} (--max-gap jumps over such pauses)"


def _step(apart: Sequence[int]) -> int:
    """The step of a clock that ticks no more often than requests arrive, give or take a little; else 0."""
    ticks = sorted(gap for gap in apart if gap > 0)
    if len(apart) + 1 < _ENOUGH or not ticks:
        return 0
    middle = len(ticks) // 2
    step = (ticks[middle] + ticks[~middle]) // 2
    steady = all(abs(gap - round(gap / step) * step) <= _JITTER * step for gap in ticks)
    return step if steady and step * len(apart) >= sum(apart) else 0


def note_on_prompts(prompt: Sequence[int]) -> Iterator[str]:
    """A sentence where many prompts have exactly the greatest length."""
    if len(prompt) < _ENOUGH:
        return
    longest = most(prompt)
    share = count_of(prompt, longest) / len(prompt)
    if share >= _CUT_SHARE and longest >= _CUT_LENGTH and len(set(prompt[:_FEW])) >= _LENGTHS:
        yield f"{share:.1%} of prompts have exactly {longest:,} tokens, the most there are: they may be cut"
