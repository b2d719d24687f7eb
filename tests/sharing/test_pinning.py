"""Prefixes that a provider would keep for good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kvtui.groups.pinning import common_keys
from kvtui.serving.intake import BlockKeys
from kvtui.traces.workload import Workload
from tests.serving.build import workload

UNIT = 16


def beginning_with(systems: list[int]) -> Workload:
    """Requests that each begin with one unit of a system prompt, and have one of their own behind it."""
    count = len(systems)
    load = workload([(0, 2 * UNIT + 1, 1)] * count, shared=UNIT)
    chain = np.array([[system, 1000 + i] for i, system in enumerate(systems)], np.int64).ravel()
    return replace(
        load, chain=chain, chain_start=np.arange(count + 1) * 2, identified=np.full(count, 2 * UNIT)
    )


@pytest.mark.parametrize(
    ("systems", "pinned"),
    [
        ([1] * 5 + [2] * 4 + list(range(10, 101)), [0]),  # one in twenty of a hundred
        ([1, 2, 1, 3], [0]),  # never less than two
        ([1, 2, 3], []),
        ([1, 1, 2, 2, 2], [0, 2]),
        ([], []),
    ],
)
def test_what_one_request_in_twenty_begins_with_is_pinned(systems: list[int], pinned: list[int]) -> None:
    load = beginning_with(systems)
    keys = BlockKeys(load, UNIT)
    assert common_keys(load, UNIT) == {keys.of(number)[0] for number in pinned}
