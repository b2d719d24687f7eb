"""Rows of queues that are kept from frame to frame are those that one would make anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.frames.frame import RunningRow, WaitingRow
from kvtui.frames.ledger import Ledger
from kvtui.frames.queuetable import QueueTable
from kvtui.frames.rows import Rows
from kvtui.hardware import catalogue
from kvtui.serving.request import Phase, Request
from kvtui.units import seconds
from tests.tui.stagecraft import small_workload

Change = tuple[str, int]
CHANGES = st.lists(st.tuples(st.sampled_from(["come", "go", "back", "late", "leave"]), st.integers(0, 9)))


def changed(queue: list[Request], away: list[Request], change: Change, number: int) -> int:
    """What can happen to a queue; returns how many were preempted."""
    kind, at = change
    if kind == "come":
        queue.append(Request(number, 10 + at, 5, arrival=1000 * number))
    elif kind == "go" and queue:
        away.append(queue.pop(0))
        away[-1].move(Phase.RUNNING)
    elif kind == "back" and away:
        queue.insert(0, away.pop())
        queue[0].move(Phase.PREEMPTED)
        queue[0].preemptions += 1
        queue[0].generated += at
        return 1
    elif kind == "late" and queue and queue[at % len(queue)].preemptions:
        queue[at % len(queue)].generated += 1  # a token that was on its way
    elif kind == "leave" and queue:
        del queue[at % len(queue)]
    return 0


@given(st.lists(CHANGES, max_size=12))
def test_a_table_follows_its_queue(looks: list[list[Change]]) -> None:
    table, preemptions, number = QueueTable(), 0, 0
    queue: list[Request] = []
    away: list[Request] = []
    for changes in looks:
        for change in changes:
            preemptions += changed(queue, away, change, number)
            number += 1
        want = [[r.number, r.known, r.arrival, r.phase is Phase.PREEMPTED] for r in queue]
        assert table.read(queue, preemptions).tolist() == want


def waiting(lane: Lane) -> list[WaitingRow]:
    engine = lane.engine
    away = [r for r in engine.scheduler.aside if r.phase is Phase.PREEMPTED]
    return [
        WaitingRow(r.number, r.known, seconds(engine.now_ps - r.arrival), r.phase is Phase.PREEMPTED)
        for r in [*away, *engine.scheduler.waiting.first()]
    ]


def running(lane: Lane) -> list[RunningRow]:
    step, size = lane.engine.scheduler.step, lane.engine.manager.block_size
    rows = []
    for r in lane.engine.scheduler.running.values():
        if not r.sequence:
            stored = r.stored(step)
            generated = r.generated if r.chunking else stored + 1 - r.prompt
            held = r.reserved or r.blocks_held * size
            rows.append((r.order, RunningRow(r.number, r.prompt, generated, r.output, stored, held)))
    rows.sort(key=lambda row: (row[1].prompt + row[1].output - row[1].computed, row[0]))
    return [row for _, row in rows]


@pytest.mark.parametrize("lane", ["paged", "contiguous", "vllm-sosp:swap"])
@pytest.mark.parametrize("options", [{}, {"policy": "priority"}, {"async_scheduling": True}])
def test_frames_list_who_waits_and_who_runs(lane: str, options: dict[str, object]) -> None:
    model, gpu = catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g")
    what = Experiment(small_workload(60), model, gpu, (LaneSpec.parse(lane),), slots=2_000, **options)
    (one,) = what.build()
    longest = at = 0
    while one.step() and one.step_count < 250:
        at += 1
        frame = one.frame(rows=(512, 8, 3)[at % 3])
        rows = (512, 8, 3)[at % 3]
        assert frame.waiting == waiting(one)[:rows]
        assert frame.running == running(one)[:rows]
        longest = max(longest, len(frame.waiting))
    assert longest > 8


def test_rows_are_read_like_any_sequence() -> None:
    rows = Rows(np.arange(12).reshape(2, 6), RunningRow._make)
    assert rows == (RunningRow(0, 1, 2, 3, 4, 5), RunningRow(6, 7, 8, 9, 10, 11))
    assert hash(rows) == hash(tuple(rows))
    assert rows[1].held == 11
    assert rows[-1:] == [rows[1]]
    assert rows != rows[:1]
    assert rows != 3


@given(st.lists(st.tuples(st.integers(0, 700), st.booleans(), st.booleans()), max_size=8))
def test_a_ledger_holds_what_was_written_whenever_it_is_read(writes: list[tuple[int, bool, bool]]) -> None:
    ledger, want = Ledger(2, most=None), np.zeros((0, 2), np.int64)
    for count, as_table, read in writes:
        new = np.arange(2 * count).reshape(-1, 2) + len(want)
        ledger.extend(new if as_table else iter(new.tolist()))
        before, want = len(want), np.concatenate([want, new])
        assert ledger.total == len(want)
        if read:
            assert (ledger.since(before) == new).all()
    assert (ledger.rows == want).all()
    assert ledger.forgotten == 0
