"""Percentiles are numpy's, digit for digit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtui.percentile import percentile

PERCENT = st.lists(st.floats(0, 100), min_size=1, max_size=4)


@given(st.lists(st.integers(0, 10**15), min_size=1), PERCENT)
def test_of_whole_numbers(values: list[int], percent: list[float]) -> None:
    assert percentile(np.array(values), *percent) == np.percentile(values, percent).tolist()


@given(st.lists(st.floats(0, 1e9), min_size=1), PERCENT)
def test_of_measurements(values: list[float], percent: list[float]) -> None:
    assert percentile(np.array(values), *percent) == np.percentile(values, percent).tolist()
