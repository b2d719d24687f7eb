"""The chronicle against the engine it was written by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.lane import Lane
from kvtui.frames.chronicle import EVER, Chronicle
from kvtui.frames.frame import EventKind
from kvtui.frames.ledger import Ledger
from kvtui.memory.ops import Op, OpKind
from tests.answers.test_report import experiment
from tests.tui.stagecraft import small

CASES = {
    "contiguous": lambda: small("contiguous", requests=150),
    "paged": lambda: small("paged", requests=150),
    "shared": lambda: experiment("shared-prefix", "paged"),
}


def tables(lane: Lane) -> dict[int, list[int]]:
    """Block tables as the engine has them, blocks from 0."""
    found = {}
    for request in lane.engine.scheduler.running.values():
        if request.reserved:
            units = request.reserved // lane.info.block_size
            found[request.number] = list(range(request.taken, request.taken + units))
        else:
            found[request.number] = [block - 1 for block in request.table]
    return found


def told(lane: Lane) -> Chronicle:
    assert lane.chronicle is not None
    return lane.chronicle


@pytest.mark.parametrize("case", CASES)
def test_block_tables_are_those_of_the_engine_at_every_step(case: str) -> None:
    (lane,) = CASES[case]().build()
    seen = {0: {}}
    while lane.step_count < 600 and lane.step():
        if lane.step_count % 7 == 0:
            seen[lane.step_count] = tables(lane)
    chronicle = told(lane)
    for step, held in seen.items():
        for request, blocks in held.items():
            assert chronicle.table(request, step) == blocks
    step, held = list(seen.items())[-1]
    holders: dict[int, set[int]] = {}
    for request, blocks in held.items():
        for block in blocks:
            holders.setdefault(block, set()).add(request)
    for block in range(0, lane.info.blocks, 3):
        assert set(chronicle.holders(block, step)) == holders.get(block, set())
    if case == "shared":
        assert any(len(who) > 1 for who in holders.values())


@settings(max_examples=6, deadline=None)
@given(steps=st.lists(st.integers(0, 120), min_size=1, max_size=4))
def test_it_is_written_once_however_often_a_step_is_run(steps: list[int]) -> None:
    straight, lane = small("paged", requests=150).build()[0], small("paged", requests=150).build()[0]
    saved = Checkpoints(lane, every=20)
    for _ in range(90):
        lane.step()
        saved.note(lane)
    for step in steps:
        lane = saved.at_step(step)
        lane.step()
    furthest = max(90, *(step + 1 for step in steps))
    while straight.step_count < furthest and straight.step():
        pass
    assert np.array_equal(told(lane).events.rows, told(straight).events.rows)
    assert np.array_equal(told(lane).ops.rows, told(straight).ops.rows)


def test_a_life_tells_all_that_happened_to_a_request() -> None:
    (lane,) = small("paged", requests=150).build()
    lane.run()
    frame, chronicle = lane.frame(), told(lane)
    victim = next(e.request for e in reversed(frame.events) if e.kind is EventKind.PREEMPTED)
    life = chronicle.life(victim, EVER)
    kinds = [event.kind for event in life]
    assert kinds[:2] == [EventKind.ARRIVED, EventKind.ADMITTED]
    assert kinds[-1] is EventKind.FINISHED
    assert kinds.count(EventKind.ADMITTED) == kinds.count(EventKind.PREEMPTED) + 1
    workload = lane.engine.workload
    assert life[0].a == workload.prompt[victim]
    chunks = [event.a for event in life if event.kind is EventKind.CHUNK]
    assert sum(chunks) >= workload.prompt[victim]
    at = next(event for event in life if event.kind is EventKind.PREEMPTED)
    assert chronicle.life(victim, at.step - 1) == life[: life.index(at)], "as of a step"


def test_moments_are_those_of_the_log() -> None:
    (lane,) = small("paged", requests=150).build()
    times = set()
    while lane.step():
        times |= {e.time_s for e in lane.frame(events=500).events if e.kind is EventKind.PREEMPTED}
    found = told(lane).moments([EventKind.PREEMPTED])
    assert {ps / 1e12 for ps in found.tolist()} == times
    first = told(lane).moments([EventKind.QUEUE])[0]
    lane = Checkpoints(small("paged", requests=150).build()[0]).at_time(int(first) + 1)
    assert lane.frame().counters.waiting > 0


def test_copies_are_told_in_tables_and_tenures() -> None:
    chronicle = Chronicle()
    chronicle.log(1, 10**12, [Op(OpKind.TAKE, 7, [1, 2, 3]), Op(OpKind.SHARE, 8, (1, 2, 3))], first=1)
    copy = [Op(OpKind.TAKE, 8, [5]), Op(OpKind.COPY, 8, (3, 5)), Op(OpKind.DROP, 8, [3])]
    chronicle.log(2, 2 * 10**12, copy, first=1)
    chronicle.log(3, 3 * 10**12, [Op(OpKind.CACHE, 7, [3])], first=1)
    chronicle.log(4, 4 * 10**12, [Op(OpKind.EVICT, -1, [3]), Op(OpKind.TAKE, 9, [3])], first=1)
    assert chronicle.table(8, 1) == [0, 1, 2]
    assert chronicle.table(8, 2) == [0, 1, 4]
    assert chronicle.holders(0, 2) == [7, 8]
    assert chronicle.holders(2, 2) == [7]
    first, second, third = chronicle.tenures(2, EVER)
    assert (first.request, first.since_s, first.until_s, first.fate) == (7, 1.0, 3.0, "cached")
    assert (second.request, second.shared, second.until_s) == (8, True, 2.0)
    assert (third.request, third.until_s) == (9, None)
    assert chronicle.tenures(2, 3)[0].fate == "cached", "as of a step"


def test_a_ledger_forgets_its_older_half() -> None:
    ledger = Ledger(2, most=1000)
    for at in range(2500):
        ledger.extend([(at, at * at)])
    assert ledger.total == 2500
    assert 500 <= len(ledger.rows) <= 1000
    assert ledger.rows[-1].tolist() == [2499, 2499**2]
    assert ledger.rows[0][0] == ledger.forgotten
    assert len(ledger.until(2400)) == 2401 - ledger.forgotten
    assert ledger.since(2498)[:, 0].tolist() == [2498, 2499]
    assert len(ledger.since(0)) == len(ledger.rows)
