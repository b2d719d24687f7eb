"""What is written down of each request, and how many tokens there are by now."""

from __future__ import annotations

from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.request import Request
from kvtui.serving.results import Results
from kvtui.serving.rules import Rules
from tests.serving.build import workload
from tests.serving.digest import Price


def test_what_has_not_happened_is_minus_one() -> None:
    results = Results(2)
    results.first(Request(1, 4, 2), 70)
    assert list(results.first_token) == [-1, 70]
    assert list(results.finish) == [-1, -1]


def test_tokens_count_in_the_middle_of_a_leap() -> None:
    asks = [(0.0, 20, 50)] * 3
    engine = Engine(workload(asks), Rules(1000), PagedMemoryManager(4096), Price())
    between = 0
    while engine.step(7):
        between += engine._stretch is not None
        assert engine.output_tokens == 3 * engine.scheduler.step, "each has one with every step"
    assert between
    assert engine.output_tokens == 150
