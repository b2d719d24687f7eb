"""Groups of layers: what a window can hold at once, in blocks of 4 tokens."""

from __future__ import annotations

import pytest

from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.groups import groups_of
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules


@pytest.mark.parametrize(
    ("window", "options", "tokens"),
    [
        (9, {}, 8 + 8),  # what its next token looks back at, and those of a step
        (10, {}, 9 + 8),
        (9, {"async_scheduling": True}, 8 + 2 * 8),  # two steps are on their way
        (10, {"async_scheduling": True}, 9 + 2 * 8),
        (8, {"spec_method": "mtp_modules", "num_speculative_tokens": 3}, 7 + 2 + 8),  # kept for the drafter
        (8, {"spec_method": "mtp", "num_speculative_tokens": 3}, 7 + 8),
        (100, {}, 40),  # the longest request
    ],
)
def test_a_window_bounds_the_blocks_that_admission_reckons_with(
    window: int, options: dict[str, int | str], tokens: int
) -> None:
    rules = Rules(40, max_num_batched_tokens=8, **options)  # type: ignore[arg-type]
    full, sliding = groups_of(["full", f"sliding:{window}"], 4, rules)
    assert full.most is None
    assert sliding.most == -(-tokens // 4) + 1, "they need not begin with a block"


def test_slots_out_of_a_window_and_of_blocks_of_another_size_are_reckoned_in_those_of_the_pool() -> None:
    manager = GroupedMemoryManager(400, 4, Rules(40), layers=["full*2", "sliding:9"])
    assert [group.size for group in manager.groups] == [4, 8]
    request = Request(0, 20, 5)
    request.tables = [[1, 2, 3, 4, 5], [0, 6, 7]]  # the first 8 tokens are out of the window
    assert manager.filled(request, 20) == 20 + 12 * 4 // 8
