"""Shares that add up and percentiles."""

from __future__ import annotations

from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtui.frames.counts import Percentiles
from kvtui.frames.stats import percentiles, shares, split


@given(st.lists(st.integers(0, 10**20), min_size=1, max_size=8))
def test_shares_add_up_to_exactly_100(parts: list[int]) -> None:
    whole = sum(parts)
    rounded = shares(parts, whole)
    assert sum(round(1000 * x) for x in rounded) == (100_000 if whole else 0)
    for share, part in zip(rounded, parts, strict=True):
        assert abs(share - 100 * part / max(whole, 1)) <= 0.001 + 1e-9


def test_split_names_the_waste() -> None:
    contiguous = split(stored=20, final=30, held=80, hole=5, cached=0, free=20, reserves=True)
    assert contiguous == (20, 10, 50, 5, 0, 0, 15)
    paged = split(stored=70, final=900, held=80, hole=0, cached=5, free=20, reserves=False)
    assert paged == (70, 0, 0, 0, 10, 5, 15)


def test_percentiles_say_over_how_many() -> None:
    durations = array("q", [10**12 * n for n in range(101)])
    assert percentiles(durations) == Percentiles(50.0, 50.0, 90.0, 99.0, 101)
    assert percentiles(array("q")) == Percentiles(None, None, None, None, 0)


@given(st.lists(st.integers(0, 10**15), min_size=1))
def test_percentiles_interpolate(values: list[int]) -> None:
    got = percentiles(array("q", values))
    assert [got.p50, got.p90, got.p99] == (np.percentile(values, (50, 90, 99)) / 1e12).tolist()
