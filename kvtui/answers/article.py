"""The experiment of the article on paged attention: how many sequences fit at once at full length.

Sequences of random length are placed one after the other until one does not fit. Contiguous memory reserves
the maximum for each, paged memory what it needs in whole blocks. That counts sequences that stand still at
their full length; a server runs requests that grow, end and make room: the other half of the comparison.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.traces.synthetic import generate, recipe

NAME = "article"
SEEDS = 1_000
BLOCK_SIZE = 16


class Counts(NamedTuple):
    """Sequences that fit at once, over many seeds."""

    median: float
    least: int
    most: int


def fit_at_once(manager: ContiguousMemoryManager | PagedMemoryManager, lengths: list[int]) -> int:
    """How many of the sequences can be placed, in order, until one does not fit."""
    for placed, length in enumerate(lengths):
        if manager.allocate(placed, length) is None:
            return placed
    return len(lengths)


def static_experiment(seeds: int = SEEDS) -> dict[str, Counts]:
    """The static count of both managers for the lengths of seeds 0 to `seeds` - 1."""
    made = recipe(NAME)
    assert made.slots is not None
    assert made.max_len is not None
    contiguous, paged = [], []
    for seed in range(seeds):
        workload = generate(made, seed=seed)
        lengths = (workload.prompt + workload.output).tolist()
        contiguous.append(fit_at_once(ContiguousMemoryManager(made.slots, made.max_len), lengths))
        paged.append(fit_at_once(PagedMemoryManager(made.slots, BLOCK_SIZE), lengths))
    return {"contiguous": _counts(contiguous), "paged": _counts(paged)}


def report(seeds: int = SEEDS) -> dict[str, object]:
    """The static experiment as data, with what it means."""
    counts = static_experiment(seeds)
    return {
        "seeds": seeds,
        **{name: c._asdict() for name, c in counts.items()},
        "ratio": round(counts["paged"].median / counts["contiguous"].median, 2),
        "explanation": EXPLANATION,
    }


EXPLANATION = (
    "Fits at once at full length: every sequence is placed with all the tokens it will ever have and stays. "
    "Runs together (the table above): requests start with their prompt, take a block when they cross into "
    "one, and leave. Far from their full length more of them run at once: the peak; the mean counts the end "
    "of the run too, when few are left."
)


def _counts(values: list[int]) -> Counts:
    return Counts(median(values), min(values), max(values))
