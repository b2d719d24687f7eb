"""What block tables mean: the ghost pool finds nothing wrong with the managers, and the bugs planted in them.

Six of the seven bugs are here, by name; the seventh needs a schedule (tests/serving/test_ghost.py).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.memory import paged, pool
from kvtui.memory.ops import OpKind, OpLog
from kvtui.memory.paged import PagedMemoryManager
from tests.memory.ghost_driver import Driver, Tokens, WrongRead, chain_keys

ACTS = 150
SEEDS = range(12)


def drive(
    seed: int, *, prefix_cache: bool = True, keys: Callable[[Tokens, int], list[int]] = chain_keys
) -> Driver:
    manager = PagedMemoryManager(num_slots=4 * 14, block_size=4, prefix_cache=prefix_cache)
    driver = Driver(seed, manager, keys=keys)
    driver.run(ACTS)
    return driver


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), prefix_cache=st.booleans())
def test_every_sequence_reads_its_own_context(seed: int, prefix_cache: bool) -> None:
    driver = drive(seed, prefix_cache=prefix_cache)
    driver.manager.check()
    for name in list(driver.tokens):
        driver.manager.free(name)
    assert driver.manager.free_blocks == 14


def test_the_random_work_forks_copies_and_hits() -> None:
    drivers = [drive(seed) for seed in SEEDS]
    assert sum(d.copies for d in drivers) > 50
    assert sum(d.hits for d in drivers) > 200
    assert sum(d.manager.evictions for d in drivers) > 50


# ---- planted bugs


def no_copy(patch: pytest.MonkeyPatch) -> None:
    """Copy-on-write switches the table but copies nothing."""
    add = OpLog.add
    patch.setattr(
        OpLog, "add", lambda log, kind, *rest: None if kind is OpKind.COPY else add(log, kind, *rest)
    )


def write_to_shared(patch: pytest.MonkeyPatch) -> None:
    """No copy-on-write at all."""
    patch.setattr(PagedMemoryManager, "write_ahead", lambda self, request, stored: True)


def stale_key(patch: pytest.MonkeyPatch) -> None:
    """A block keeps its key when it is handed out again."""

    def evict(self: pool.BlockPool, n: int) -> list[int]:
        place, self._place = self._place, {}
        ids = original(self, n)
        self._place = {b: at for b, at in place.items() if b not in ids}
        return ids

    original = pool.BlockPool.take
    patch.setattr(pool.BlockPool, "take", evict)


def freed_while_held(patch: pytest.MonkeyPatch) -> None:
    """A block is freed although somebody else still holds it."""
    patch.setattr(pool.BlockPool, "_without_shared", lambda self, owner, blocks: blocks)


def swapped_entries(patch: pytest.MonkeyPatch) -> None:
    """Two entries of a block table change places after the blocks were written."""
    original = PagedMemoryManager.grow

    def grow(self: PagedMemoryManager, request: paged.Request, upto: int) -> bool:
        done = original(self, request, upto)
        if done and len(request.table) > 3:
            request.table[0], request.table[1] = request.table[1], request.table[0]
        return done

    patch.setattr(PagedMemoryManager, "grow", grow)


def block_keys_without_parent(tokens: Tokens, size: int) -> list[int]:
    """Keys that name a block's own tokens and nothing before them."""
    return [hash(tuple(tokens[i : i + size])) & 0xFFFF_FFFF for i in range(0, len(tokens) - size + 1, size)]


def caught(**options: object) -> int:
    found = 0
    for seed in SEEDS:
        try:
            drive(seed, **options)  # type: ignore[arg-type]
        except (WrongRead, AssertionError, KeyError, IndexError):
            found += 1
    return found


@pytest.mark.parametrize("bug", [no_copy, write_to_shared, stale_key, freed_while_held, swapped_entries])
def test_a_planted_bug_is_caught(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caught() == 0
    bug(monkeypatch)
    assert caught() >= len(SEEDS) // 2


def test_keys_without_their_parent_are_caught() -> None:
    assert caught(keys=block_keys_without_parent) >= len(SEEDS) // 2
