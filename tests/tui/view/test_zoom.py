from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.tui.view.cells import Kind, block_at, code, mark
from kvtui.tui.view.scale import Scale, scale_for
from kvtui.tui.view.zoom import Zoom, levels, place_words, row_of, rows_of, scrolls, top_at, with_bar, zoomed
from tests.tui.frames import BLOCKS, POOL, lane, paged_cells

PAIR = (lane("contiguous"), lane("paged"))
WHOLE = scale_for(PAIR, room=32, rows=20)
SLOT = 131_072


def test_each_level_halves_a_cell_down_to_one_block() -> None:
    assert [scale.tokens for scale in levels(WHOLE, PAIR)] == [64, 32, 16]
    assert levels(scale_for(PAIR, room=64, rows=40), PAIR) == [Scale(64, 40, 16, SLOT)]


def test_the_smallest_block_of_all_lanes_is_a_cell_in_the_end() -> None:
    lanes = (lane("paged", block_size=128, blocks=POOL // 128), lane("paged", name="fine"))
    assert [scale.tokens for scale in levels(scale_for(lanes, room=32, rows=20), lanes)] == [128, 64, 32, 16]
    fp8 = lane("paged", pool_bytes=POOL * SLOT // 2)
    last = levels(WHOLE, (PAIR[0], fp8))[-1]
    assert (last.slots(fp8), last.slots(PAIR[0])) == (16, 8), "its blocks take half the bytes"


def test_no_closer_than_a_block_and_no_further_than_the_end() -> None:
    zoom, scale = zoomed(Zoom(-1, 10_000), WHOLE, PAIR)
    assert zoom == Zoom(0, 59)  # 79 rows of 32 blocks
    assert (scale.tokens, scale.top, rows_of(scale, PAIR)) == (16, 59, 79)
    assert zoomed(Zoom(2, 5), WHOLE, PAIR) == (Zoom(), WHOLE)
    assert zoomed(Zoom(1, -5), WHOLE, PAIR) == (Zoom(1, 0), WHOLE._replace(tokens=32))
    assert not scrolls(WHOLE, PAIR)
    assert scrolls(scale, PAIR)


def test_where_the_grid_is_in_words() -> None:
    _, scale = zoomed(Zoom(0, 4), WHOLE, PAIR)
    assert place_words(scale, PAIR[0]) == "blocks 128–767 of 2,500"
    _, end = zoomed(Zoom(0, 99), WHOLE, PAIR)
    assert place_words(end, PAIR[1]) == "blocks 1,888–2,499 of 2,500"
    short = lane("paged", blocks=50, pool_tokens=800, pool_bytes=800 * SLOT)
    assert place_words(scale, short) == "ends before, with block 49"


@given(st.integers(0, 59), st.integers(0, 31), st.integers(0, 19))
def test_a_cell_in_sight_is_the_block_it_says(top: int, x: int, y: int) -> None:
    _, scale = zoomed(Zoom(0, top), WHOLE, PAIR)
    block = block_at(paged_cells(), scale, PAIR[1], x=x, y=y)
    number = (top + y) * 32 + x
    assert block == (number if number < BLOCKS else None)
    if block is not None:
        codes = np.zeros((20, 32), np.uint16)
        mark(codes, scale, PAIR[1], block)
        assert codes[y, x] == code(Kind.CURSOR)
        assert row_of(scale, PAIR[1], block) == top + y


def test_the_cursor_out_of_sight_marks_nothing() -> None:
    _, scale = zoomed(Zoom(0, 20), WHOLE, PAIR)
    codes = np.zeros((20, 32), np.uint16)
    for block in (20 * 32 - 1, 40 * 32):
        mark(codes, scale, PAIR[1], block)
    assert not codes.any()


@pytest.mark.parametrize(("top", "thumb"), [(0, range(5)), (59, range(15, 20)), (30, range(7, 12))])
def test_the_bar_says_which_part_it_is(top: int, thumb: range) -> None:
    _, scale = zoomed(Zoom(0, top), WHOLE, PAIR)
    bar = with_bar(np.zeros((20, 32), np.uint16), scale, PAIR)[:, 32]
    assert [y for y in range(20) if bar[y] == code(Kind.THUMB)] == [*thumb]
    assert {*bar.tolist()} == {code(Kind.THUMB), code(Kind.TRACK)}


def test_a_click_on_the_ends_of_the_bar_goes_to_the_ends_of_the_pool() -> None:
    _, scale = zoomed(Zoom(0), WHOLE, PAIR)
    assert [top_at(scale, PAIR, y) for y in (0, 19)] == [0, 59]
