"""How long a run can be: to its cut, and not beyond what the clock holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kvtui.comparison.experiment import Experiment
from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from kvtui.units import DAY_S, seconds


def apart(days: int, until_s: float | None = None) -> Experiment:
    """Two requests, so many days from each other."""
    workload = load(str(path_of("chat")), limit=2)
    workload = replace(workload, arrival_ns=np.array([0, days * DAY_S * 10**9]))
    return Experiment(workload, catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g"), until_s=until_s)


def test_a_trace_longer_than_the_clock_is_refused() -> None:
    with pytest.raises(ConfigError, match="the trace spans 110 days, a run 100 at most"):
        apart(110)


@pytest.mark.parametrize(("days", "until_s", "end_s"), [(99, None, 99 * DAY_S), (1000, 60.0, 60)])
def test_a_run_ends_where_it_is_cut(days: int, until_s: float | None, end_s: float) -> None:
    for lane in apart(days, until_s).build():
        lane.run()
        assert end_s <= seconds(lane.now_ps) < end_s + 60
        assert lane.frame().counters.finished == (2 if until_s is None else 1)
