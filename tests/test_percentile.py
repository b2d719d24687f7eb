"""Percentiles are numpy's, digit for digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvtui.percentile
from kvtui.percentile import percentile

PERCENT = st.lists(st.floats(0, 100), min_size=1, max_size=4)


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**15), min_size=1), PERCENT)
def test_of_whole_numbers(values: list[int], percent: list[float]) -> None:
    expected = np.percentile(values, percent).tolist()
    assert percentile(values, *percent) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kvtui.percentile, "FEW", 0)
        assert percentile(values, *percent) == expected


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e9), min_size=1), PERCENT)
def test_of_measurements(values: list[float], percent: list[float]) -> None:
    expected = np.percentile(values, percent).tolist()
    assert percentile(values, *percent) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kvtui.percentile, "FEW", 0)
        assert percentile(values, *percent) == expected
