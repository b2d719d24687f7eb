"""Wrong numbers that other tools have shown: each a small scenario with the value that must come out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.frames.counters import CounterReader
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.rules import Rules
from kvtui.timing.roofline import LinearCost
from tests.serving.build import Ask, contiguous, frames, paged, workload


def test_recomputed_tokens_are_no_prefix_hits() -> None:
    """A request that finds its own blocks after a preemption has hit nothing."""
    engine = paged(workload([(0, 48, 48), (0, 48, 48)]), blocks=8)
    engine.run()
    counters = CounterReader(engine).read()
    assert (counters.query_tokens, counters.hit_tokens) == (96, 0)
    assert counters.preemptions >= 1
    assert counters.readmit_query_tokens > 0
    assert counters.finished == 2


def test_a_waiting_request_is_looked_up_once() -> None:
    """However long it waits: 128 query tokens and 64 hits for the one that shares 64."""
    engine = paged(workload([(0, 160, 21), (0.001, 128, 4)], shared=64), blocks=12)
    engine.step()
    first = CounterReader(engine).read()
    assert first.query_tokens == 160
    pictures = frames(engine)
    assert sum(f.counters.waiting for f in pictures) > 10, "it did not wait"
    last = pictures[-1].counters
    assert last.query_tokens - first.query_tokens == 128
    assert last.hit_tokens == 64


def test_a_request_that_never_fits_is_refused_at_once() -> None:
    engine = paged(workload([(0, 200, 10), (0, 20, 10)]), blocks=10)
    engine.run()
    assert engine.results.refusals == {0: (14, 10)}
    assert engine.results.finished == 1


def test_two_that_fit_alone_but_not_together_both_finish_in_order() -> None:
    engine = paged(workload([(0, 100, 60), (0, 100, 60)]), blocks=10)
    engine.run()
    assert engine.results.finished == 2
    assert engine.scheduler.preemptions <= 2
    assert engine.results.finish[0] < engine.results.finish[1]


def test_the_free_slots_of_the_last_block_are_used() -> None:
    """A prompt of 64 in chunks of 24 takes the last free block only when it crosses into it."""
    load = workload([(0, 8, 2), (0, 64, 1)])
    rules = Rules(1000, long_prefill_token_threshold=24, scheduler_reserve_full_isl=False)
    engine = Engine(load, rules, PagedMemoryManager(4 * 16, 16), LinearCost())
    held, before = [], 0
    while engine.step():
        held.append((engine.meter.held - before) // 16)
        before = engine.meter.held
    clock = [engine.cost.step(*shape) for shape in ((0, 0, 32, 0), (1, 0, 24, 0), (0, 0, 16, 0))]
    assert [h // dt for h, dt in zip(held, clock, strict=True)] == [1 + 2, 1 + 3, 4]
    assert engine.scheduler.preemptions == 0


def test_no_hit_is_possible_below_one_block() -> None:
    """240 shared tokens are less than a block of 784; with blocks of 16 all but the first hit them."""
    load = workload([(i * 60.0, 280, 2) for i in range(50)], shared=240)
    large = paged(load, blocks=100, block_size=784)
    large.run()
    assert CounterReader(large).read().hit_tokens == 0
    small = paged(load, blocks=3000)
    small.run()
    assert CounterReader(small).read().hit_tokens == 49 * 240 == 11_760


def test_blocks_in_use_are_not_slots_in_use() -> None:
    """100 prompts of 17 tokens: 66.7 % of the blocks are held, 35.4 % of the slots hold anything."""
    engine = paged(workload([(0, 17, 1)] * 100), blocks=300)
    engine.run()
    mean = CounterReader(engine).read().split_mean
    assert mean.stored + mean.tail == pytest.approx(66.7, abs=0.05)
    assert mean.stored == pytest.approx(35.4, abs=0.05)
    assert mean.tail / (mean.stored + mean.tail) == pytest.approx(0.469, abs=0.0005)
    single = paged(workload([(0, 17, 1)] * 100), blocks=4800, block_size=1)
    single.run()
    assert CounterReader(single).read().split_mean.tail == 0


def test_cached_blocks_are_not_in_use() -> None:
    """24 requests of two full blocks, done; then 24 more: live + cached + free is the pool at every step."""
    engine = paged(workload([(0, 32, 1)] * 24 + [(100, 32, 1)] * 24), blocks=200)
    pictures = frames(engine)
    cached = []
    for picture in pictures:
        state = picture.cells.state
        live, kept, free = ((state == s).sum() for s in (3, 2, 0))
        assert live + kept + free == 200
        if not picture.counters.running:
            assert live == 0
            cached.append(int(kept))
    assert cached[0] == 48
    assert cached[-1] == 96
    assert pictures[-1].counters.split.cached == 48.0


@settings(max_examples=150, deadline=None)
@given(
    asks=st.lists(
        st.tuples(st.floats(0, 2), st.integers(1, 120), st.integers(0, 60)), min_size=1, max_size=30
    ),
    blocks=st.integers(1, 30),
    budget=st.integers(1, 300),
    kind=st.sampled_from(["paged", "contiguous"]),
)
def test_every_request_ends_and_every_share_adds_up(
    asks: list[Ask], blocks: int, budget: int, kind: str
) -> None:
    load = workload(sorted(asks))
    if kind == "paged":
        engine = paged(load, blocks, block_size=8, max_len=100, budget=budget)
    else:
        engine = contiguous(load, blocks * 8, min(100, blocks * 8), unit=8)
    pictures = frames(engine)
    last = pictures[-1].counters
    assert last.finished + last.rejected == len(asks)
    assert last.unfinished == last.running == last.waiting == 0
    assert last.e2e.n == last.finished
    for picture in pictures:
        for split in (picture.counters.split, picture.counters.split_mean):
            assert sum(round(1000 * x) for x in split) in (0, 100_000)
            assert min(split) >= 0
        assert picture.counters.split.reserved == 0 or kind == "contiguous"
    assert last.batch_peak >= max(f.counters.running for f in pictures)
