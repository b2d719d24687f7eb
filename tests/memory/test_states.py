"""Layers that keep a state in place of K and V: which blocks stay, and which states are worth keeping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.memory.retention import Retention
from kvtui.memory.states import StateGroup
from kvtui.serving.request import Request


@given(size=st.integers(1, 8), computed=st.integers(0, 100))
def test_all_blocks_before_that_of_the_last_token_can_go(size: int, computed: int) -> None:
    group = StateGroup(None, size, (0,))
    last = max(computed - 1, 0)
    table = list(range(1, 103))
    assert group.skipped(computed) * size <= last < (group.skipped(computed) + 1) * size
    assert group.gone(table, computed) == list(range(last // size - 1, -1, -1))


@pytest.mark.parametrize("interval", [None, 16, 24, 4])
def test_a_segment_ends_with_the_block_that_is_kept_whatever_the_prompts_are(interval: int | None) -> None:
    group, beside = StateGroup(None, 4, (0,)), StateGroup(None, 8, (1,))
    retention = Retention([group, beside], 8, interval, 0)
    nowhere = Request(0, 1, 1)
    kept = [n for n in range(40) if n in retention.kept(group, nowhere, n, n + 1)]
    assert kept == [n for n in range(40) if retention.ends_segment(group, n)]
    assert kept == [n for n in range(40) if (n + 1) * 4 % (interval or 8) == 0]
