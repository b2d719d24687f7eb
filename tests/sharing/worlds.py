"""Small random runs of requests with several sequences."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from kvtui.groups import PREEMPT
from kvtui.groups.engine import GroupEngine
from kvtui.groups.link import Link
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.serving.intake import BlockKeys
from kvtui.serving.rules import Rules
from kvtui.timing.roofline import LinearCost
from tests.serving.build import workload

LINK = Link.of(layers=32, block_bytes=1 << 21, bandwidth=12e9)


def paper_rules(max_len: int = 4096, *, seqs: int = 2048) -> Rules:
    """Scheduler options of the PagedAttention paper."""
    return Rules(
        max_len,
        max_num_batched_tokens=2560,
        max_num_seqs=seqs,
        enable_chunked_prefill=False,
        watermark=0.01,
    )


def world(seed: int) -> GroupEngine:
    """A pool that is often too small, forks, beams, both kinds of preemption, pinned prefixes."""
    rng = random.Random(seed)
    size, shared = rng.choice([1, 2, 4, 16]), rng.choice([0, 0, 16, 32])
    asks = sorted((rng.random() * 0.4, shared + rng.randint(1, 40), rng.randint(1, 40)) for _ in range(40))
    load = workload(asks, shared=shared)
    load = replace(
        load,
        samples=np.array([rng.choice([1, 1, 2, 3, 6]) for _ in asks]),
        beams=np.array([rng.choice([0, 0, 2, 4]) for _ in asks]),
    )
    keys = BlockKeys(load, size).of(0) if shared and rng.random() < 0.7 else []
    tokens = rng.choice([500, 700, 1200])
    manager = ForkingMemoryManager(
        tokens, size, host_blocks=rng.choice([0, 40, 500]) // size, pinned=frozenset(keys[: shared // size])
    )
    return GroupEngine(
        load, paper_rules(), manager, LinearCost(), preempt=rng.choice(PREEMPT), link=rng.choice([None, LINK])
    )
