"""Traces made from statistics: lengths by quantiles or like a trace, arrivals, shared prefixes, sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log1p
from random import Random
from typing import NamedTuple

import numpy as np

from kvtui.errors import ConfigError
from kvtui.traces.options import MOST_TOKENS
from kvtui.traces.quantiles import Quantiles
from kvtui.traces.workload import Ints, Workload

UNIT = 16  # tokens a unit of prefix identity
_S = 10**9


@dataclass(frozen=True, slots=True)
class Plan:
    """What to make. Rates are of requests, turns of a session among them.

    burstiness: shape of the gamma distribution of gaps between sessions (1 = Poisson). prefix_groups
    sessions share one of so many openings of prefix_tokens, the n-th of them 1/n as often as the first.
    turns: mean turns of a session; the next comes think_s after the one before, on average, and its prompt
    holds the whole history. Lengths of prompts are those of what is new in a turn, behind the opening.
    """

    requests: int = 1000
    rate: float = 1.0
    burstiness: float = 1.0
    prefix_groups: int = 0
    prefix_tokens: int = 0
    turns: float = 1.0
    think_s: float = 10.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises ConfigError for values that make no sense."""
        for name in ("requests", "rate", "burstiness", "think_s"):
            value = getattr(self, name)
            if not 0 < value < 1e12:
                raise ConfigError(
                    f"{name.replace('_', ' ')} cannot be {value:g}.", hint="give a number above 0"
                )
        if not 1 <= self.turns <= 1000:
            raise ConfigError(
                f"a session cannot have {self.turns:g} turns.", hint="give 1 to 1,000, on average"
            )
        if bool(self.prefix_groups) != bool(self.prefix_tokens):
            raise ConfigError(
                "shared openings need both a number and a length.", hint="give groups and tokens"
            )
        if min(self.prefix_groups, self.prefix_tokens) < 0:
            raise ConfigError("shared openings cannot be negative.", hint="give 0 for none")


class _Turn(NamedTuple):
    at: float  # seconds
    prompt: int
    output: int
    session: int
    group: int  # -1 = none
    wait: float  # seconds after the turn before


def synthesise(plan: Plan, *, prompt: Quantiles | Workload, output: Quantiles | Workload) -> Workload:
    """A workload by `plan`; where both lengths come from one workload they are drawn as pairs from it."""
    random = Random(plan.seed)
    turns: list[_Turn] = []
    sessions = _sessions(plan, random)
    while len(turns) < plan.requests:
        start, group, number = next(sessions)
        turns += _session(plan, random, start=start, group=group, number=number, lengths=(prompt, output))
    chosen = sorted(turns, key=lambda turn: turn.at)[: plan.requests]
    return _workload(plan, chosen)


def _sessions(plan: Plan, random: Random) -> Iterator[tuple[float, int, int]]:
    """Start, group and number of one session after another."""
    weights = [1 / (place + 1) for place in range(plan.prefix_groups)]
    at, number, alpha = 0.0, 0, plan.burstiness
    while True:
        group = random.choices(range(plan.prefix_groups), weights)[0] if weights else -1
        yield at, group, number
        gap = -log1p(-random.random()) if alpha == 1 else random.gammavariate(alpha, 1 / alpha)
        at += gap * plan.turns / plan.rate
        number += 1


def _session(
    plan: Plan,
    random: Random,
    *,
    start: float,
    group: int,
    number: int,
    lengths: tuple[Quantiles | Workload, Quantiles | Workload],
) -> Iterator[_Turn]:
    history, at, wait = plan.prefix_tokens if group >= 0 else 0, start, 0.0
    while True:
        new, answer = _draw(random, lengths)
        history = min(history + new, MOST_TOKENS)
        yield _Turn(at, history, answer, number, group, wait)
        if random.random() >= 1 - 1 / plan.turns:
            return
        history += answer
        wait = -log1p(-random.random()) * plan.think_s
        at += wait


def _draw(random: Random, lengths: tuple[Quantiles | Workload, Quantiles | Workload]) -> tuple[int, int]:
    prompt, output = lengths
    place = int(random.random() * len(prompt)) if isinstance(prompt, Workload) else 0
    new = int(prompt.prompt[place]) if isinstance(prompt, Workload) else prompt.at(random.random())
    if isinstance(output, Workload):
        place = place if output is prompt else int(random.random() * len(output))
        return max(new, 1), int(output.output[place])
    return max(new, 1), output.at(random.random())


def _workload(plan: Plan, turns: Sequence[_Turn]) -> Workload:
    arrival = np.rint(np.array([turn.at for turn in turns]) * _S).astype(np.int64)
    prompt = np.array([turn.prompt for turn in turns], np.int64)
    output = np.array([turn.output for turn in turns], np.int64)
    shared = plan.turns > 1 or plan.prefix_groups > 0
    units = _units(plan, turns, prompt + output) if shared else np.zeros(len(turns), np.int64)
    return Workload(
        name="synthetic",
        format="synthetic",
        arrival_ns=arrival - arrival[0],
        prompt=prompt,
        output=output,
        line=np.zeros(len(turns), np.int64),
        unit=UNIT if shared else 0,
        chain=_ids(plan, turns, units),
        chain_start=np.concatenate(([0], np.cumsum(units))),
        identified=units * UNIT if shared else np.zeros(0, np.int64),
        follows=_follows(turns),
        waits_ns=np.rint(np.array([turn.wait for turn in turns]) * _S).astype(np.int64),
    )


def _follows(turns: Sequence[_Turn]) -> Ints | None:
    """The turn before in the same session, -1 for the first; None where no session has a second."""
    last: dict[int, int] = {}
    before: list[int] = []
    for place, turn in enumerate(turns):
        before.append(last.get(turn.session, -1))
        last[turn.session] = place
    return np.array(before, np.int64) if max(before) >= 0 else None


def _units(plan: Plan, turns: Sequence[_Turn], tokens: Ints) -> Ints:
    """Whole units of each request that another may go on from: all of a session, else the opening."""
    opening = np.array([plan.prefix_tokens if turn.group >= 0 else 0 for turn in turns], np.int64)
    return (tokens if plan.turns > 1 else opening) // UNIT


def _ids(plan: Plan, turns: Sequence[_Turn], units: Ints) -> Ints:
    """Ids of openings first, then those of each session, which its turns share."""
    opening = plan.prefix_tokens // UNIT
    longest: dict[int, int] = {}
    for turn, count in zip(turns, units.tolist(), strict=True):
        longest[turn.session] = max(longest.get(turn.session, 0), count)
    base, known = {}, plan.prefix_groups * opening
    for session, count in longest.items():
        base[session], known = known, known + count
    parts = [np.zeros(0, np.int64)]
    for turn, count in zip(turns, units.tolist(), strict=True):
        common = min(opening if turn.group >= 0 else 0, count)
        parts.append(np.arange(turn.group * opening, turn.group * opening + common))
        parts.append(np.arange(base[turn.session] + common, base[turn.session] + count))
    return np.concatenate(parts)


def closeness(
    workload: Workload, plan: Plan, *, prompt: Quantiles | Workload, output: Quantiles | Workload
) -> list[tuple[str, float, float]]:
    """What was asked for beside what came out: (name, wanted, got). Prompts are compared where a plan has
    single turns without openings, for else they hold more than the lengths asked for."""
    got_rate = (len(workload) - 1) / workload.span_s if workload.span_s else 0.0
    rows = [("requests a second", plan.rate, got_rate)]
    simple = plan.turns == 1 and not plan.prefix_groups
    for name, wanted, column in (("prompt", prompt, workload.prompt), ("output", output, workload.output)):
        if name == "output" or simple:
            rows += [
                (f"{name} p{100 * share:g}", tokens, float(np.quantile(column, share)))
                for share, tokens in _quantiles(wanted, name)
            ]
    return rows


def _quantiles(wanted: Quantiles | Workload, name: str) -> Sequence[tuple[float, float]]:
    if isinstance(wanted, Quantiles):
        return wanted.points
    column = wanted.prompt if name == "prompt" else wanted.output
    return [(share, float(np.quantile(column, share))) for share in (0.5, 0.9, 0.99)]
