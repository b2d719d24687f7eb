"""Prefixes in a tree: what requests find, hold and lose is what it is where every block stands on its own."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.memory.paged import PagedMemoryManager
from kvtui.memory.pool import BlockPool
from tests.serving.digest import digest, run
from tests.serving.talks import talking


def maps(pool: BlockPool) -> tuple[Any, ...]:
    """What is known of every keyed block, in the order of the maps where that counts."""
    pool.check()
    return pool._key_of, pool._block_of, pool._twins, pool._place, pool.extra


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_blocks_on_their_own_and_in_a_tree_make_one_run(seed: int) -> None:
    tree, alone = talking(seed), talking(seed)
    while tree.step():
        alone.step()
        alone.manager.pool.dissolve()  # type: ignore[attr-defined]
        assert tree.manager.pool.named == alone.manager.pool.named  # type: ignore[attr-defined]
    assert not alone.step()
    assert digest(tree) == digest(alone)
    assert tree.manager.forgotten == alone.manager.forgotten
    assert maps(tree.manager.pool) == maps(alone.manager.pool)  # type: ignore[attr-defined]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), after=st.integers(1, 60))
def test_everything_can_leave_the_tree_at_any_time(seed: int, after: int) -> None:
    undisturbed, disturbed = talking(seed), talking(seed)
    for _ in range(after):
        disturbed.step()
    pool = disturbed.manager.pool  # type: ignore[attr-defined]
    pool.check()
    held = Counter(block for r in disturbed.scheduler.running.values() for block in r.table)
    assert pool.extra == {block: n - 1 for block, n in held.items() if n > 1}
    assert not held.keys() & set(pool.queue())
    assert run(disturbed, 1) == run(undisturbed, 1)


def test_a_prompt_that_goes_on_and_one_that_branches_off() -> None:
    memory = PagedMemoryManager(20, 1)
    memory.allocate("first", 7, keys=[1, 2, 3, 4, 5, 6, 7])
    assert memory.allocate("branch", 6, keys=[1, 2, 3, 8, 9, 10]) == 3
    assert memory.block_table("branch")[:3] == memory.block_table("first")[:3]
    memory.free("first")
    assert memory.pool.cached == 4, "three are held by the branch"
    assert memory.allocate("again", 8, keys=[1, 2, 3, 4, 5]) == 5
    assert memory.pool.cached == 2
    memory.free("branch")
    memory.free("again")
    memory.check()


def test_last_blocks_are_lost_first() -> None:
    memory = PagedMemoryManager(8, 1)
    memory.allocate("first", 6, keys=[1, 2, 3, 4, 5, 6])
    memory.free("first")
    memory.allocate("other", 5)  # two that were never used, and three of the six
    assert memory.evictions == memory.forgotten == 3
    assert memory.allocate("again", 4, keys=[1, 2, 3, 4, 5, 6]) is None
    memory.free("other")
    assert memory.allocate("again", 5, keys=[1, 2, 3, 4, 5, 6]) == 3


def test_a_second_copy_answers_when_the_first_is_lost() -> None:
    memory = PagedMemoryManager(9, 1)
    memory.allocate("first", 3, keys=[1, 2, 3])
    assert memory.allocate("second", 3, keys=[1, 2, 3]) == 2, "one known token is computed again"
    first, second = memory.block_table("first"), memory.block_table("second")
    memory.free("first")
    memory.free("second")
    memory.allocate("others", 6)  # five never used, and the copy of the last block that was free first
    memory.free("others")
    assert memory.allocate("third", 4, keys=[1, 2, 3]) == 3
    assert memory.block_table("third")[:3] == (*first[:2], second[2])


def test_prefixes_however_deep_can_be_copied() -> None:
    memory = PagedMemoryManager(2000, 1)
    for length in range(1, 350):
        memory.allocate(length, length + 1, keys=[*range(length), -length])
        memory.free(length)
    copy = pickle.loads(pickle.dumps(memory.pool))
    assert copy.queue() == memory.pool.queue()
    assert copy.named == memory.pool.named > 349
