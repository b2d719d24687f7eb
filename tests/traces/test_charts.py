"""Charts of a workload count every request once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kvtui.traces.charts import arrivals, lengths
from tests.serving.build import workload


@given(st.lists(st.integers(0, 200_000), max_size=60), st.integers(1, 12))
def test_every_length_is_in_one_bar(tokens: list[int], bars: int) -> None:
    found = lengths(np.array(tokens, np.int64), bars=bars)
    assert len(found) <= bars
    assert sum(bar.requests for bar in found) == len(tokens)
    for bar in found:
        assert bar.requests == sum(bar.low <= n <= bar.high for n in tokens)


@given(st.lists(st.floats(0, 5000), min_size=1, max_size=60), st.integers(1, 50))
def test_every_arrival_is_in_one_bucket(times: list[float], buckets: int) -> None:
    times = sorted(times)
    counts = arrivals(workload([(t, 8, 8) for t in times]), buckets=buckets)
    assert len(counts) == buckets
    assert sum(counts) == len(times)
    width = (times[-1] - times[0]) / buckets
    if width > 1e-6:
        first = sum(t - times[0] < width * (1 - 1e-6) for t in times)
        assert first <= counts[0] <= sum(t - times[0] <= width * (1 + 1e-6) for t in times)
