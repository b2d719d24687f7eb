"""Contiguous memory: real allocation and free, the reserve rules, holes measured."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.memory.contiguous import PLACEMENT, RESERVE, ContiguousMemoryManager
from kvtui.memory.ops import OpKind, OpLog
from kvtui.memory.placement import Buddy, FirstFit


def test_the_article_in_ten_lines() -> None:
    memory = ContiguousMemoryManager(num_slots=10_000, max_len=512)
    names = list(range(30))
    placed = [name for name in names if memory.allocate(name, 100) is not None]
    assert len(placed) == 10_000 // 512 == 19
    usage = memory.usage()
    assert usage.stored == 1900
    assert usage.stored + usage.internal == 19 * 512
    assert usage.external == 10_000 - 19 * 512
    assert sum(usage) == 10_000
    memory.free(placed[4])
    assert memory.allocate("again", 100) == 0
    assert memory.handles["again"].taken == 4 * 512


def test_append_stops_at_the_end_of_the_region() -> None:
    memory = ContiguousMemoryManager(num_slots=100, max_len=10)
    memory.allocate("a", 8)
    assert memory.append("a", 2)
    assert not memory.append("a")
    assert memory.tokens("a") == 10


def test_a_fork_is_a_second_region_and_a_copy() -> None:
    memory = ContiguousMemoryManager(num_slots=80, max_len=20, block_size=4, beside=4)
    memory.allocate("parent", 9)
    memory.log = log = OpLog()
    assert memory.fork("parent", "child")
    assert (memory.tokens("child"), memory.held_slots) == (9, 48)
    start = memory.handles["child"].taken
    copied = [op.blocks for op in log.drain() if op.kind is OpKind.COPY]
    assert copied == [(unit, start + unit) for unit in range(4)]  # of 13 slots, the states' included
    assert memory.allocate("other", 1) is not None
    assert not memory.fork("parent", "third")
    assert memory.usage().free + memory.usage().external == 80 - 72
    memory.free("parent")
    memory.check()


def test_a_prompt_beyond_the_maximum_is_refused_without_effect() -> None:
    memory = ContiguousMemoryManager(num_slots=100, max_len=10)
    assert memory.allocate("a", 11) is None
    assert memory.usage().free + memory.usage().external == 100


@pytest.mark.parametrize(("reserve", "slots"), [("max", 2048), ("pow2", 100 + 64), ("exact", 100 + 50)])
def test_reserve_rules(reserve: str, slots: int) -> None:
    memory = ContiguousMemoryManager(num_slots=8192, max_len=2048, reserve=reserve)
    memory.allocate("a", 100, output=50)
    assert memory.held_slots == slots


def test_states_take_slots_of_every_region() -> None:
    memory = ContiguousMemoryManager(num_slots=100, max_len=20, reserve="exact", beside=15)
    memory.allocate("a", 10, output=5)
    assert memory.held_slots == 30
    assert memory.usage().stored == 25
    assert memory.append("a", 5)
    assert not memory.append("a"), "the states are not there for tokens"
    assert memory.allocate("b", 20) is not None
    assert memory.usage().free == 100 - 30 - 35
    assert memory.allocate("c", 20) is not None
    assert memory.allocate("d", 1) is None


def test_holes_are_what_no_region_fits_in() -> None:
    memory = ContiguousMemoryManager(num_slots=1000, max_len=400)
    for name in "ab":
        assert memory.allocate(name, 10) is not None
    assert memory.usage().external == 200
    memory.free("a")
    assert memory.usage().external == 200
    assert memory.usage().free == 400


def test_buddy_takes_the_pool_of_the_paper_apart() -> None:
    """983 blocks = 7 x 128 + 64 + 16 + 4 + 2 + 1 (PagedAttention artifact)."""
    sizes = [size for _, size in Buddy(983, 128).extents()]
    assert sizes == [128] * 7 + [64, 16, 4, 2, 1]


def test_buddy_splits_and_merges() -> None:
    buddy = Buddy(16, 16)
    assert buddy.place(3) == (0, 4)
    assert buddy.place(4) == (4, 4)
    assert buddy.place(9) is None
    buddy.free(0, 4)
    assert buddy.extents() == [(0, 4), (8, 8)]
    buddy.free(4, 4)
    assert buddy.extents() == [(0, 16)]


@pytest.mark.parametrize("placement", [FirstFit, lambda total: Buddy(total, 64)])
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_placement_tiles_the_memory(placement, data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 300))
    place = placement(total)
    held: list[tuple[int, int]] = []
    for _ in range(data.draw(st.integers(1, 40))):
        if held and data.draw(st.booleans()):
            place.free(*held.pop(data.draw(st.integers(0, len(held) - 1))))
        else:
            size = data.draw(st.integers(1, 64))
            fits = place.fits(size)
            got = place.place(size)
            assert (got is not None) == fits
            if got is not None:
                assert got[1] >= size
                held.append(got)
        at = 0
        for start, size in sorted(held + place.extents()):
            assert start == at
            at += size
        assert at == total


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    reserve=st.sampled_from(RESERVE),
    placement=st.sampled_from(PLACEMENT),
    unit=st.sampled_from([1, 4, 16]),
)
def test_everything_adds_up(data: st.DataObject, reserve: str, placement: str, unit: int) -> None:
    memory = ContiguousMemoryManager(unit * 64, unit * 16, unit, reserve=reserve, placement=placement)
    for name in range(data.draw(st.integers(1, 30))):
        if memory.handles and data.draw(st.booleans()):
            memory.free(data.draw(st.sampled_from(sorted(memory.handles))))
        else:
            memory.allocate(
                name, data.draw(st.integers(1, unit * 8)), output=data.draw(st.integers(0, unit * 8))
            )
        memory.check()
        assert sum(memory.usage()) == unit * 64
        assert min(memory.usage()) >= 0


@pytest.mark.parametrize(
    "wrong", [{"reserve": "most"}, {"placement": "best"}, {"block_size": 0}, {"max_len": 0}, {"num_slots": 0}]
)
def test_options_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        ContiguousMemoryManager(**({"num_slots": 100, "max_len": 10} | wrong))
