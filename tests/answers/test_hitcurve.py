"""Hit rates at every size from one pass, beside a cache that is really run at each."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.answers.hitcurve import NEVER, hit_curve
from kvtui.errors import ConfigError
from kvtui.traces.info import hit_rate_ceiling
from kvtui.traces.workload import Workload
from tests.serving.build import workload

Chains = list[list[int]]


def trace(chains: Chains) -> Workload:
    plain = workload([(i, 16 * len(chain) + 1, 1) for i, chain in enumerate(chains)])
    flat = np.array([unit for chain in chains for unit in chain], np.int64)
    return replace(plain, unit=16, chain=flat, chain_start=np.cumsum([0, *map(len, chains)]))


def replayed(chains: Chains, size: int) -> float:
    """Share of the units found by a cache of `size` units that forgets the least recently used one."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = total = 0
    for chain in chains:
        whole = True
        for unit in chain:
            whole = whole and unit in cache
            hits += whole
            total += 1
            cache[unit] = None
            cache.move_to_end(unit)
            if len(cache) > size:
                cache.popitem(last=False)
    return hits / total


def tree(paths: list[list[int]]) -> Chains:
    """Unit ids that name whole prefixes."""
    ids: dict[tuple[int, ...], int] = {}
    return [[ids.setdefault(tuple(path[: i + 1]), len(ids)) for i in range(len(path))] for path in paths]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=30),
    st.integers(1, 40),
)
def test_one_pass_agrees_with_a_cache_of_any_size(paths: list[list[int]], size: int) -> None:
    chains = tree(paths)
    assert hit_curve(trace(chains)).rate(size) == pytest.approx(replayed(chains, size))


def test_a_trace_without_identity_has_no_curve() -> None:
    with pytest.raises(ConfigError, match="which prefixes"):
        hit_curve(workload([(0, 10, 1)]))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.integers(0, 1), max_size=5), st.integers(1, 90)), min_size=1, max_size=12)
)
def test_with_room_for_everything_it_finds_what_the_ceiling_says(
    requests: list[tuple[list[int], int]],
) -> None:
    """Of prompts that end inside a unit, that have no unit, or whose answers the trace names as well."""
    chains = tree([path for path, _ in requests])
    plain = workload([(i, prompt, 1) for i, (_, prompt) in enumerate(requests)])
    flat = np.array([unit for chain in chains for unit in chain], np.int64)
    made = replace(plain, unit=16, chain=flat, chain_start=np.cumsum([0, *map(len, chains)]))
    assert hit_curve(made).found(NEVER) == pytest.approx(hit_rate_ceiling(made) or 0.0)
