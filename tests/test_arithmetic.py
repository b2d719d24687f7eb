"""Columns are summed alike whether they are short or long."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvtui.arithmetic
from kvtui.arithmetic import added, count_of, cut, gaps, least, most, sum_of, variation

COLUMNS = st.lists(st.integers(0, 10**12), min_size=1).map(lambda values: memoryview(array("q", values)))


def both(made: Callable[[], Any]) -> tuple[Any, Any]:
    """What comes out of short columns and of long ones."""
    short = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kvtui.arithmetic, "FEW", 0)
        return short, made()


@settings(deadline=None)
@given(COLUMNS, st.integers(0, 10**12))
def test_alike(values: memoryview[int], limit: int) -> None:
    numbers = values.tolist()
    assert both(lambda: [*gaps(values)]) == ([b - a for a, b in pairwise(numbers)],) * 2
    assert both(lambda: [*added(values, values)]) == ([2 * n for n in numbers],) * 2
    assert both(lambda: [*cut(values, limit)]) == ([n if n < limit else limit for n in numbers],) * 2
    assert both(lambda: sum_of(values)) == (sum(numbers),) * 2
    assert both(lambda: (least(values), most(values))) == ((min(numbers), max(numbers)),) * 2
    assert both(lambda: count_of(values, numbers[0])) == (numbers.count(numbers[0]),) * 2
    assert both(lambda: sum_of(gaps(added(values, values)))) == (2 * (numbers[-1] - numbers[0]),) * 2


@settings(deadline=None)
@given(COLUMNS)
def test_variation(values: memoryview[int]) -> None:
    short, long = both(lambda: variation(values))
    assert short is long or short == pytest.approx(long, rel=1e-6, abs=1e-6)


def test_known() -> None:
    assert both(lambda: variation([2, 4, 4, 4, 5, 5, 7, 9])) == (0.4, 0.4)
    assert both(lambda: variation([0, 0])) == (None, None)
    assert variation([]) is None
    assert most([]) == 0
