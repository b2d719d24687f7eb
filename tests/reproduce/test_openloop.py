"""Prompts whole or in chunks, without a memory manager: what waits for what, and how long."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.reproduce import openloop
from kvtui.reproduce.openloop import waits
from kvtui.timing.roofline import LinearCost
from kvtui.traces.workload import Workload

MS = 10**9
COST = LinearCost(base=10 * MS, per_prefill=MS, per_decode=MS)
requests = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 60), st.integers(1, 30)), min_size=1, max_size=12
)


def workload(rows: list[tuple[int, int, int]]) -> Workload:
    """Rows of (arrival in ms, prompt, output)."""
    arrival, prompt, output = (np.array(column, np.int64) for column in zip(*sorted(rows), strict=True))
    return Workload("w", "test", arrival * 10**6, prompt, output, np.zeros(len(rows), np.int64))


def served(server: openloop._Server, *, chunked: bool) -> Counter[int]:
    """Times between tokens -> how many."""
    while server.left:
        server.chunk() if chunked else server.whole()
    counts: Counter[int] = Counter()
    for gaps, answers in zip(server._gaps, server._times, strict=True):
        for gap in gaps.tolist():
            counts[gap] += answers
    return +counts


class Singly(openloop._Server):
    """Every decode step by itself."""

    def _decode_on(self) -> None:
        self._decode(0, 0)


@given(requests, st.booleans(), st.integers(1, 5))
def test_every_token_but_the_first_waits_once_and_leaps_change_nothing(
    rows: list[tuple[int, int, int]], chunked: bool, seats: int
) -> None:
    load = workload(rows)
    server, singly = openloop._Server(load, COST, 64, seats), Singly(load, COST, 64, seats)
    gaps = served(server, chunked=chunked)
    assert gaps == served(singly, chunked=chunked)
    assert gaps.total() == sum(output - 1 for _, _, output in rows)
    assert len(server.starts) == len(server.firsts) == len(rows)
    assert all(
        0 <= start < first for start, first in zip(sorted(server.starts), sorted(server.firsts), strict=True)
    )
    assert server._context == 0


def test_a_whole_prompt_makes_the_others_wait_and_a_chunk_makes_it_wait_itself() -> None:
    load = workload([(0, 10, 40), (100, 64, 2)])
    whole, chunks = (waits(load, COST, budget=budget, chunked=c) for budget, c in ((64, False), (17, True)))
    # The step of the prompt, and the decode of both behind it; of 40 gaps one.
    assert whole.tbt_p99 == pytest.approx((10 + 64 + 10 + 2) / 1000)
    # 16 tokens of it beside each token of the other.
    assert chunks.tbt_p99 == pytest.approx((10 + 1 + 16) / 1000)
    assert chunks.ttft_median > whole.ttft_median


def test_who_finds_no_seat_waits_for_one() -> None:
    load = workload([(0, 10, 10), (0, 10, 10)])
    alone, together = (waits(load, COST, budget=64, chunked=False, seats=seats) for seats in (1, 2))
    assert together.ttft_median == pytest.approx((10 + 20) / 1000)
    assert alone.tbt_p99 < together.tbt_p99
