"""Managers by name: what `usage` says adds up to the pool, and what is stored is what was."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.memory.contiguous import PLACEMENT, RESERVE, ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.request import Request

SLOTS, LONGEST = 960, 120


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["contiguous", "contiguous by 16", "paged", "paged by 1"])
def test_usage_adds_up(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    paged, size = kind.startswith("paged"), 16 if kind in ("contiguous by 16", "paged") else 1
    memory = PagedMemoryManager(SLOTS, size) if paged else ContiguousMemoryManager(SLOTS, LONGEST, size)
    there: dict[int, int] = {}
    refused = 0
    for name in range(120):
        tokens, more = rng.randint(1, LONGEST - 20), rng.randint(0, 20)
        if memory.allocate(name, tokens, output=more) is None:
            refused += 1
        else:
            there[name] = tokens
            if memory.append(name, more):
                there[name] += more
        while there and rng.random() < 0.4:
            gone = rng.choice(list(there))
            memory.free(gone)
            del there[gone]
        usage = memory.usage()
        assert usage.stored == sum(there.values())
        assert sum(usage) == SLOTS
        assert min(usage) >= 0
        if paged:
            assert usage.internal == sum(-tokens % size for tokens in there.values())
        memory.check()
    for name in there:
        memory.free(name)
    assert memory.usage().stored == memory.usage().internal == memory.usage().reserved == 0
    assert refused, "it was never full"


@settings(max_examples=150, deadline=None)
@given(
    slots=st.integers(8, 90),
    size=st.sampled_from([1, 3, 4]),
    prompt=st.integers(1, 30),
    output=st.integers(1, 20),
    rule=st.sampled_from(["paged", *product(RESERVE, PLACEMENT)]),
)
def test_as_many_fit_as_can_be_stored(
    slots: int, size: int, prompt: int, output: int, rule: str | tuple[str, str]
) -> None:
    """Requests that are there at full length at once; the last token of one is never stored."""
    memory: PagedMemoryManager | ContiguousMemoryManager
    if isinstance(rule, str):
        memory = PagedMemoryManager(slots, size)
    else:
        memory = ContiguousMemoryManager(slots, 50, size, reserve=rule[0], placement=rule[1])
    request = Request(0, prompt, output)
    there = 0
    while memory.allocate(there, prompt, output=output) is not None and memory.append(there, output - 1):
        there += 1
    assert memory.fit(request) == there
    assert memory.can_hold(request) == (there > 0)
