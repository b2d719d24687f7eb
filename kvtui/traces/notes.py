"""What the data gives away about how it was recorded: clocks that move in steps, pauses, cut prompts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kvtui.traces.clock import S
from kvtui.traces.workload import Ints

_FEW = 4096  # rows that are enough to see it
_JITTER = 0.01  # of a step, by which a tick may be early or late
_ENOUGH = 50  # requests, before anything is concluded
_PAUSE_NS = 3600 * S
_CUT_SHARE = 0.02  # of the prompts, at exactly the greatest length
_CUT_LENGTH, _LENGTHS = 512, 20  # tokens, and different lengths, below which that says nothing


def notes_on_time(arrival_ns: Ints, line: Ints) -> Iterator[str]:
    """Sentences about sorted arrivals."""
    if len(arrival_ns) < 2:
        return
    gaps = np.diff(arrival_ns)
    step = _step(gaps[:_FEW])
    if step and (gaps == step).all():
        yield "all gaps between arrivals are equal: times may be row numbers, or made at a fixed rate"
    elif step:
        yield f"arrivals move in steps of {step / S:,.10g} s: their burstiness is that of the clock"
    longest = int(gaps.argmax())
    if (gap := int(gaps[longest])) > _PAUSE_NS:
        where = f" before line {line[longest + 1]}" if line[longest + 1] else ""
        yield f"nothing arrives for {gap / S / 3600:,.1f} hours{where} (--max-gap jumps over such pauses)"


def _step(gaps: Ints) -> int:
    """The step of a clock that ticks no more often than requests arrive, give or take a little; else 0."""
    ticks = gaps[gaps > 0]
    if len(gaps) + 1 < _ENOUGH or not len(ticks):
        return 0
    step = int(np.median(ticks))
    off = np.abs(ticks - np.rint(ticks / step) * step)
    return step if (off <= _JITTER * step).all() and step * len(gaps) >= gaps.sum() else 0


def note_on_prompts(prompt: Ints) -> Iterator[str]:
    """A sentence where many prompts have exactly the greatest length."""
    if len(prompt) < _ENOUGH:
        return
    longest = int(prompt.max())
    share = np.count_nonzero(prompt == longest) / len(prompt)
    if share >= _CUT_SHARE and longest >= _CUT_LENGTH and len(np.unique(prompt[:_FEW])) >= _LENGTHS:
        yield f"{share:.1%} of prompts have exactly {longest:,} tokens, the most there are: they may be cut"
