"""Paged memory by name: tables, growth at a boundary, the prefix cache, fork and copy-on-write."""

from __future__ import annotations

import pytest

from kvtui.errors import ConfigError
from kvtui.memory.paged import PagedMemoryManager


def test_the_article_in_ten_lines() -> None:
    memory = PagedMemoryManager(num_slots=10_000, block_size=16)
    lengths = [10 + 7 * i % 500 for i in range(100)]
    placed = 0
    while memory.allocate(placed, lengths[placed]) is not None:
        placed += 1
    blocks = [-(-n // 16) for n in lengths]
    assert sum(blocks[:placed]) <= 625 < sum(blocks[: placed + 1])
    usage = memory.usage()
    assert usage.stored == sum(lengths[:placed])
    assert usage.internal == sum(16 * b - n for b, n in zip(blocks[:placed], lengths[:placed], strict=True))
    memory.free(0)
    assert memory.tokens(1) == lengths[1]
    memory.check()


def test_a_block_is_taken_at_the_boundary_only() -> None:
    memory = PagedMemoryManager(num_slots=64, block_size=4)
    memory.allocate("a", 3)
    tables = []
    for _ in range(6):
        assert memory.append("a")
        tables.append(len(memory.block_table("a")))
    assert tables == [1, 2, 2, 2, 2, 3]


def test_refusal_has_no_effect() -> None:
    memory = PagedMemoryManager(num_slots=8, block_size=4)
    memory.allocate("a", 7)
    assert memory.allocate("b", 1) is None
    assert memory.append("a")
    assert not memory.append("a")
    assert memory.tokens("a") == 8
    assert memory.usage() == (8, 0, 0, 0, 0, 0)


def test_the_prefix_cache_serves_full_blocks_and_leaves_one_token() -> None:
    memory = PagedMemoryManager(num_slots=64, block_size=4)
    assert memory.allocate("a", 12, keys=[1, 2, 3]) == 0
    assert memory.allocate("b", 12, keys=[1, 2, 3]) == 8  # the last token is computed again
    assert memory.allocate("c", 13, keys=[1, 2, 3]) == 12
    assert memory.allocate("d", 13, keys=[1, 5, 6]) == 4
    assert memory.block_table("b")[:2] == memory.block_table("a")[:2]
    assert memory.block_table("b")[2] != memory.block_table("a")[2]
    memory.check()


def test_cached_blocks_stay_until_they_are_needed_oldest_first() -> None:
    memory = PagedMemoryManager(num_slots=24, block_size=4)
    memory.allocate("a", 8, keys=[1, 2])
    memory.allocate("b", 8, keys=[3, 4])
    memory.free("a")
    memory.free("b")
    assert memory.usage().cached == 16
    assert memory.allocate("c", 12) == 0  # two never used blocks and the end of a
    assert memory.evictions == 1
    assert memory.allocate("d", 9, keys=[1, 2]) == 4
    memory.free("d")
    assert memory.allocate("e", 9, keys=[3, 4]) is not None


def test_a_fork_shares_until_it_writes() -> None:
    memory = PagedMemoryManager(num_slots=64, block_size=4)
    memory.allocate("parent", 6)
    assert memory.fork("parent", "child")
    assert memory.block_table("child") == memory.block_table("parent")
    assert memory.usage().stored == 6
    assert memory.append("child")
    full, tail = memory.block_table("parent")
    assert memory.block_table("child")[0] == full
    assert memory.block_table("child")[1] != tail
    assert memory.append("parent")
    assert memory.block_table("parent") == (full, tail), "the last holder writes in place"
    memory.free("parent")
    memory.check()
    assert memory.tokens("child") == 7
    memory.free("child")
    assert memory.usage().stored == memory.usage().internal == 0


def test_a_fork_names_the_blocks_that_two_hold_and_no_others() -> None:
    memory = PagedMemoryManager(num_slots=64, block_size=4)
    memory.allocate("parent", 13, keys=[7])
    assert memory.pool.named == 1
    assert memory.fork("parent", "child")
    assert memory.pool.named == 3
    assert memory.append("parent", 8)
    assert memory.append("child", 8)
    assert memory.pool.named == 3, "what came later nobody else can meet"
    memory.free("parent")
    memory.free("child")
    assert memory.usage().cached == (3 + 2 + 2) * 4
    memory.check()


def test_copy_on_write_without_a_free_block_is_refused_without_effect() -> None:
    memory = PagedMemoryManager(num_slots=8, block_size=4)
    memory.allocate("parent", 6)
    memory.fork("parent", "child")
    before = memory.block_table("child")
    assert not memory.append("child")
    assert memory.block_table("child") == before
    memory.check()


@pytest.mark.parametrize("wrong", [{"block_size": 0}, {"block_size": -1}, {"num_slots": 3}])
def test_options_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        PagedMemoryManager(**({"num_slots": 100, "block_size": 4} | wrong))
