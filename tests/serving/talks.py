"""Random conversations: prompts that go on from others, repeat them or branch off, in all sizes of pools."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.rules import Rules
from kvtui.traces.workload import Workload
from tests.serving.build import workload
from tests.serving.digest import Price

Chain = list[int]


class Prefixes:
    """Chain ids: one for each different prefix."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._ids: dict[tuple[int, int], int] = {}

    def next(self, chains: list[Chain], longest: int) -> Chain:
        """A chain that begins as one of `chains` does, or anew."""
        rng = self._rng
        kind = rng.choice(["new", "same", "on", "on", "branch"]) if chains else "new"
        old = rng.choice(chains[-8:]) if kind != "new" else []
        chain = old[: rng.randint(0, len(old))] if kind == "branch" else old.copy()
        more = 0 if kind == "same" else rng.randint(1, longest)
        while more and len(chain) < 3 * longest:
            # Few names for a unit: chains meet again by chance.
            step = chain[-1] if chain else -1, rng.randint(0, 2)
            chain.append(self._ids.setdefault(step, len(self._ids)))
            more -= 1
        return chain


def conversations(rng: random.Random, unit: int) -> Workload:
    """Requests that share prefixes of units; what is identified may reach into the answer."""
    longest, prefixes = rng.choice([2, 5, 12]), Prefixes(rng)
    gap, now = rng.choice([0, 1e-7, 1e-6, 1e-5, 1e-4]), 0.0
    quoted = rng.choice([0, 0, 3])  # tokens of an answer that others may go on from
    chains: list[Chain] = []
    asks, identified = [], []
    for _ in range(rng.randint(2, 40)):
        chains.append(prefixes.next(chains, longest))
        now += rng.choice([0, 0, rng.random()]) * gap
        cut = rng.choice([0, 0, rng.randrange(unit)])
        named = len(chains[-1]) * unit - cut
        own = rng.choice([0, 0, rng.randint(0, 40)])
        output = rng.choice([0, 1, 2, rng.randint(2, 20), rng.randint(2, 120)])
        answered = min(quoted, output, named - 1) if not own else 0
        asks.append((now, named + own - answered, output))
        identified.append(named)
    flat = [name for chain in chains for name in chain]
    return replace(
        workload(asks),
        unit=unit,
        chain=np.array(flat, np.int64),
        chain_start=np.cumsum([0, *map(len, chains)]),
        identified=np.array(identified, np.int64),
        clients=rng.choice([0, 0, 0, 5]),
    )


def talking(seed: int) -> Engine:
    """An engine with such requests."""
    rng = random.Random(seed)
    size = rng.choice([1, 2, 4, 16])
    load = conversations(rng, max(size * rng.choice([1, 1, 2, 8]) // rng.choice([1, 1, 2]), 1))
    longest = int((load.prompt + load.output).max())
    blocks = longest // size + rng.choice([2, 8, 40, 300, 2000])
    rules = Rules(
        longest + 10,
        max_num_seqs=rng.choice([1, 3, 8, 256]),
        max_num_batched_tokens=rng.choice([10, 50, longest, 4 * longest]) + 8,
        watermark=rng.choice([0.0, 0.0, 0.1]),
        enable_chunked_prefill=rng.random() < 0.9,
        scheduler_reserve_full_isl=rng.random() < 0.8,
    )
    return Engine(load, rules, PagedMemoryManager(blocks * size, size), Price())
