"""The bundled workloads: made from recipes by a seeded generator, the same bytes on every machine.

`python -m kvtui.traces.synthetic workloads/` writes them again. All randomness is `random.Random.random`, for
which every version of Python gives the same sequence; it is turned into lengths and gaps here.
"""

from __future__ import annotations

import hashlib
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import exp, log, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import nearest

if TYPE_CHECKING:
    from kvtui.traces.workload import Workload

SECONDS_PER_TOKEN = 0.04  # of the answer that a user of a conversation waits for before the next turn


@dataclass(frozen=True, slots=True)
class Lengths:
    """Whole numbers from `low` to `high`: log-normal where there is a mean, else uniform."""

    low: int
    high: int
    mean: float | None = None
    cv: float = 1.0  # standard deviation over mean, before the cut

    def draw(self, random: Random) -> int:
        if self.mean is None:
            return self.low + int(random.random() * (self.high - self.low + 1))
        spread = log(1 + self.cv**2)
        while True:
            normal = NormalDist().inv_cdf(random.random() or 0.5)
            value = int(exp(log(self.mean) - spread / 2 + sqrt(spread) * normal))
            if self.low <= value <= self.high:
                return value


@dataclass(frozen=True, slots=True)
class Burst:
    """Conversations begin at `rate` a second in the last `lasts_s` seconds of each period of `every_s`."""

    rate: float
    every_s: float
    lasts_s: float


@dataclass(frozen=True, slots=True)
class Recipe:
    """Conversations of one or more turns. A prompt is a prefix, what was said before, and new tokens."""

    name: str
    about: str
    seed: int
    conversations: int
    max_len: int
    slots: int | None = None
    rate: float | None = None  # conversations that begin in a second; None = all at once
    burst: Burst | None = None
    prompt: Lengths = Lengths(1, 1)  # new tokens of a turn
    output: Lengths = Lengths(1, 1)
    total: Lengths | None = None  # instead of prompt and output, split by
    prompt_share: float = 0.5
    turns: Lengths = Lengths(1, 1)
    think: Lengths = Lengths(0, 0)  # seconds between an answer and the next turn
    unit: int = 0  # tokens an id stands for; 0 = nothing is shared
    prefixes: int = 0  # different prefixes, each used equally often
    prefix: Lengths = Lengths(0, 0)


class Turn(NamedTuple):
    """One request before it is placed in a workload. `ids` are runs (first, count)."""

    at_us: int
    prompt: int
    output: int
    ids: tuple[tuple[int, int], ...]


def bundled() -> list[str]:
    """Names of the bundled workloads, in the order of the recipes."""
    return list(_recipes())


def path_of(name: str) -> Path:
    """The file of a bundled workload. Raises ConfigError that names the nearest ones."""
    recipe(name)
    return _directory() / f"{name}.jsonl"


def recipe(name: str) -> Recipe:
    """What a bundled workload is made from. Raises ConfigError that names the nearest ones."""
    recipes = _recipes()
    if name not in recipes:
        raise ConfigError(f'there is no bundled workload "{name}"', hint=nearest(name, recipes))
    return recipes[name]


def generate(recipe: Recipe, *, seed: int | None = None) -> Workload:
    """The workload of a recipe, from its own seed or another."""
    import numpy as np

    from kvtui.traces.workload import Workload

    turns = sorted(_turns(recipe, Random(recipe.seed if seed is None else seed)), key=lambda turn: turn.at_us)
    chains = [np.concatenate([np.arange(a, a + n) for a, n in t.ids] or [np.zeros(0, int)]) for t in turns]
    units = np.array([len(chain) for chain in chains], np.int64)
    workload = Workload(
        name=recipe.name,
        format="synthetic",
        arrival_ns=np.array([turn.at_us for turn in turns], np.int64) * 1000,
        prompt=np.array([turn.prompt for turn in turns], np.int64),
        output=np.array([turn.output for turn in turns], np.int64),
        line=np.zeros(len(turns), np.int64),
        unit=recipe.unit,
        chain=np.concatenate(chains).astype(np.int64),
        chain_start=np.concatenate(([0], np.cumsum(units))),
        identified=units * recipe.unit,
        max_len=recipe.max_len,
        slots=recipe.slots,
    )
    columns = (workload.arrival_ns, workload.prompt, workload.output, workload.chain, workload.chain_start)
    digest = hashlib.sha256(b"".join(column.astype("<i8").tobytes() for column in columns))
    return replace(workload, sha256=digest.hexdigest())


def _turns(recipe: Recipe, random: Random) -> Iterator[Turn]:
    """The turns of all conversations, one conversation after the other."""
    prefixes = [recipe.prefix.draw(random) for _ in range(recipe.prefixes)] or [0]
    unit = recipe.unit or 1 << 60
    shared, fresh = [], 0
    for length in prefixes:
        shared.append((fresh, length // unit))
        fresh += length // unit
    starts = _starts(recipe, random)
    for _ in range(recipe.conversations):
        which = int(random.random() * len(prefixes))
        turns = _conversation(recipe, random, start=next(starts), prefix=prefixes[which])
        common = shared[which]
        for i, turn in enumerate(turns):
            # Only what another turn can meet: all that was said up to here, but nothing of the last turn.
            known = turns[min(i, len(turns) - 2)] if len(turns) > 1 else None
            own = (known.prompt + known.output) // unit - common[1] if known else 0
            yield turn._replace(ids=tuple(run for run in (common, (fresh, own)) if run[1]))
        if len(turns) > 1:
            fresh += (turns[-2].prompt + turns[-2].output) // unit - common[1]


def _conversation(recipe: Recipe, random: Random, *, start: float, prefix: int) -> list[Turn]:
    """Its turns, without ids, until there are enough or the next would not fit in the maximum length."""
    turns: list[Turn] = []
    wanted = recipe.turns.draw(random)
    at, said = start, prefix
    while len(turns) < wanted:
        new, output = _lengths(recipe, random)
        if said + new + output > recipe.max_len:
            if turns:
                break
            continue
        turns.append(Turn(round(at * 1e6), said + new, output, ()))
        said += new + output
        at += output * SECONDS_PER_TOKEN + recipe.think.draw(random)
    return turns


def _lengths(recipe: Recipe, random: Random) -> tuple[int, int]:
    if recipe.total is None:
        return recipe.prompt.draw(random), recipe.output.draw(random)
    total = recipe.total.draw(random)
    prompt = max(1, int(total * recipe.prompt_share))
    return prompt, total - prompt


def _starts(recipe: Recipe, random: Random) -> Iterator[float]:
    """Seconds at which conversations begin: a Poisson process of constant or bursting rate, from 0."""
    at = 0.0
    while True:
        yield at
        if recipe.rate is None:
            continue
        work = -log(1 - random.random())  # gaps are this much of the rate's integral
        while True:
            rate, end = _phase(recipe, at)
            if at + work / rate <= end:
                break
            work -= (end - at) * rate
            at = end
        at += work / rate


def _phase(recipe: Recipe, at: float) -> tuple[float, float]:
    """The rate at that time and when it changes."""
    assert recipe.rate is not None
    burst = recipe.burst
    if burst is None:
        return recipe.rate, float("inf")
    begin = at // burst.every_s * burst.every_s
    change = begin + burst.every_s - burst.lasts_s
    return (recipe.rate, change) if at < change else (burst.rate, begin + burst.every_s)


@cache
def _recipes() -> dict[str, Recipe]:
    tables = tomllib.loads((_directory() / "recipes.toml").read_text("utf-8"))
    return {name: _recipe(name, table) for name, table in tables.items()}


def _recipe(name: str, table: dict[str, Any]) -> Recipe:
    for key in ("prompt", "output", "total", "turns", "think", "prefix"):
        if key in table:
            table[key] = Lengths(**table[key])
    if "burst" in table:
        table["burst"] = Burst(**table["burst"])
    return Recipe(name=name, **table)


def _directory() -> Path:
    """Inside the installed package, or beside it in a source checkout."""
    package = Path(__file__).parents[1]
    installed = package / "workloads"
    return installed if installed.is_dir() else package.parent / "workloads"


def _write(directory: Path) -> None:
    from kvtui.traces.formats import native

    for name in bundled():
        made = recipe(name)
        with (directory / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as stream:
            native.write(generate(made), stream, seed=made.seed, about=made.about)


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
