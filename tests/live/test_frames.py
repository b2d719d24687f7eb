"""What is drawn of a server: nothing that it does not say."""

from __future__ import annotations

import numpy as np
import pytest

from kvtui.frames.frame import Cell
from kvtui.live.drawing import MOST_CELLS, grid_of
from kvtui.live.frames import POINTS, Film, info_of
from kvtui.live.numbers import derived, reported
from kvtui.live.poll import Poller
from kvtui.live.reading import Part, Reading, Slot
from kvtui.live.session import LEAST, Seen, Session, Tape
from kvtui.live.watch import Watch


def vllm(usage: float | None = 0.25, *, blocks: float | None = 40, **more: object) -> Reading:
    pool = None if blocks is None else blocks * 32
    numbers = {"running": reported(3), "waiting": reported(1), **more}
    return Reading(
        kind="vllm",
        version="0.32.0",
        usage=reported(usage),
        blocks=derived(blocks),
        block_size=reported(32),
        pool_tokens=derived(pool),
        **numbers,  # type: ignore[arg-type]
    )


def filmed(reading: Reading, content: np.ndarray | None = None):
    snapshot = Watch("s", reading, 0.0).snapshot(0.0)
    return info_of(snapshot, title="s"), Film(snapshot).look(snapshot, 0.0, content).frame


def test_use_without_places_is_drawn_from_the_first_cell_on() -> None:
    info, frame = filmed(vllm())
    assert (info.blocks, info.block_size, info.label) == (40, 32, "live")
    assert info.subtitle == "vllm 0.32.0, 40 blocks of 32"
    assert frame.cells.state.tolist() == [Cell.HELD] * 10 + [Cell.FREE] * 30
    assert frame.counters.split.stored == 25
    assert frame.counters.split.free == 75
    assert frame.counters.split.cached is None  # some of what is free may be


def test_cached_content_takes_the_place_of_use() -> None:
    content = np.zeros(40, np.bool_)
    content[[3, 7]] = True
    _, frame = filmed(vllm(), content)
    assert np.flatnonzero(frame.cells.state == Cell.CACHED).tolist() == [3, 7]
    assert frame.counters.split.stored == 25


def test_what_is_unknown_is_none_and_draws_nothing() -> None:
    info, frame = filmed(vllm(None, blocks=None, waiting=reported(None), running=reported(None)))
    assert (info.blocks, len(frame.cells.state)) == (0, 0)
    assert frame.counters.waiting is None
    assert frame.counters.batch_peak is None
    assert frame.counters.rejected is None
    assert frame.counters.split.free is None
    assert frame.counters.ttft.n == 0


def test_a_large_pool_is_drawn_in_larger_blocks() -> None:
    grid = grid_of(Reading(kind="sglang", pool_tokens=reported(1_000_000), block_size=reported(1)))
    assert grid.blocks <= MOST_CELLS
    assert grid.blocks * grid.block_size == pytest.approx(1_000_000, rel=0.001)


def test_cached_content_of_a_large_pool_is_drawn_in_the_same_larger_blocks() -> None:
    blocks = 2 * MOST_CELLS
    content = np.zeros(blocks, np.bool_)
    content[[0, 1, blocks - 1]] = True
    info, frame = filmed(vllm(blocks=blocks), content)
    assert (info.blocks, info.block_size) == (MOST_CELLS, 64)
    assert np.flatnonzero(frame.cells.state == Cell.CACHED).tolist() == [0, MOST_CELLS - 1]
    assert frame.cells.stored[[0, 1, -1]].tolist() == [64, 0, 32]


@pytest.mark.parametrize("engines", [1, 2])
def test_events_of_one_engine_are_not_the_whole_map_of_several(engines: int) -> None:
    class Fixed:
        def read(self) -> Reading:
            return vllm(parts=tuple(Part(str(at), 1.0, 0.0, 0.2) for at in range(engines)))

    session = Session(
        [Poller("s", Fixed())], titles=["s"], contents=[lambda _: (np.zeros(40, np.bool_), False)]
    )
    assert session.tapes[0].seen(0).missing is (engines > 1)


def test_slots_are_where_they_are() -> None:
    slots = (Slot(0, 40, 64, True, 8), Slot(1, 16, 64, False, 0))
    reading = Reading(
        kind="llama.cpp",
        running=derived(1),
        usage=derived(40 / 128),
        cached=derived(16 / 128),
        pool_tokens=derived(128),
        slots=slots,
        split_slots=True,
    )
    info, frame = filmed(reading)
    assert (info.manager, info.region_blocks, info.blocks, info.block_size) == ("contiguous", 4, 8, 16)
    assert frame.cells.state.tolist() == [Cell.HELD] * 4 + [Cell.CACHED] + [Cell.FREE] * 3
    assert frame.cells.stored.tolist() == [16, 16, 8, 0, 16, 0, 0, 0]
    assert frame.cells.owner.tolist() == [0] * 4 + [-1] * 4
    assert sum(part for part in frame.counters.split if part) == pytest.approx(100)
    (row,) = frame.running
    assert (row.request, row.prompt, row.generated) == (0, 32, 8)


def test_the_mean_batch_is_weighted_by_time_and_leaves_out_what_nobody_knows() -> None:
    watch = Watch("s", vllm(), 0.0)
    film = Film(watch.snapshot(0.0))
    film.look(watch.snapshot(0.0), 0.0)
    film.look(watch.take(vllm(running=reported(5), mark=1), 1.0), 1.0)
    film.look(watch.failed("gone", 2.0), 2.0)
    frame = film.look(watch.take(vllm(running=reported(1), mark=2), 9.0), 9.0).frame
    assert frame.counters.batch_mean == 3.0  # of the one second that is known
    assert frame.counters.batch_peak == 5
    assert frame.batch == ((0.0, 3), (1.0, 5), (9.0, 1))


def test_cells_that_look_the_same_are_the_same() -> None:
    watch = Watch("s", vllm(), 0.0)
    film = Film(watch.snapshot(0.0))
    first = film.look(watch.snapshot(0.0), 0.0).frame
    assert film.look(watch.take(vllm(mark=1), 1.0), 1.0).frame.cells is first.cells
    assert film.look(watch.take(vllm(0.5, mark=2), 2.0), 2.0).frame.cells is not first.cells


def test_a_former_look_stays_as_it_was() -> None:
    watch = Watch("s", vllm(), 0.0)
    film = Film(watch.snapshot(0.0))
    looks = [
        film.look(watch.take(vllm(running=reported(at % 7), mark=at), float(at)), float(at))
        for at in range(1, 2 * POINTS + 100)
    ]
    early = looks[POINTS - 10]
    assert early.frame is early.frame
    assert early.frame.batch == tuple((float(at), at % 7) for at in range(1, POINTS - 8))
    assert len(looks[-1].frame.batch) <= POINTS


def test_an_hour_of_looks_is_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvtui.live.session.KEPT_BYTES", 0)
    watch = Watch("s", vllm(), 0.0)
    first = watch.snapshot(0.0)
    film, info = Film(first), info_of(first, title="s")
    seen = [Seen(at, film.look(first, float(at)), first, info) for at in range(3 * LEAST)]
    tape = Tape(seen[0])
    for each in seen[1:]:
        tape.add(each)
    assert tape.newest == 3 * LEAST - 1
    assert tape.seen(tape.newest) is seen[-1]
    oldest = tape.seen(0)
    assert 0 < len(seen) - oldest.now_ps <= LEAST
    assert tape.seen(oldest.now_ps) is oldest
