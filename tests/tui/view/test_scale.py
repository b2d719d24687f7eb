from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.tui.view.layout import GRID, Form
from kvtui.tui.view.scale import Scale, scale_for
from tests.tui.frames import lane

PAIR = (lane("contiguous"), lane("paged"))


@pytest.mark.parametrize(
    ("form", "width", "tokens", "rows"),
    [
        (Form.LINE, 32, 16 * 16, 5),  # a region is a quarter of a row
        (Form.SMALL, 32, 8 * 16, 10),  # half a row
        (Form.MEDIUM, 32, 4 * 16, 20),  # a row
        (Form.LARGE, 64, 16, 40),  # two rows, every block visible
    ],
)
def test_the_default_pool_in_every_form(form: Form, width: int, tokens: int, rows: int) -> None:
    scale = scale_for(PAIR, room=GRID[form].width, rows=GRID[form].height)
    assert scale == Scale(width, GRID[form].height, tokens)
    assert scale.rows_of(PAIR[0]) == rows


def test_a_region_that_is_no_power_of_two_still_ends_with_a_row() -> None:
    odd = lane("contiguous", region_blocks=100)
    scale = scale_for((odd, PAIR[1]), room=32, rows=20)
    assert scale == Scale(25, 20, 8 * 16)
    assert scale.width * scale.tokens == 2 * 100 * 16


def test_a_region_that_fits_no_width_wraps() -> None:
    prime = lane("contiguous", region_blocks=127)
    assert scale_for((prime, PAIR[1]), room=32, rows=20) == Scale(32, 20, 64)


def test_without_regions_the_grid_takes_the_whole_room() -> None:
    assert scale_for((PAIR[1], PAIR[1]), room=27, rows=20) == Scale(27, 20, 8 * 16)


def test_the_reserving_lane_decides_wherever_it_stands() -> None:
    assert scale_for(PAIR[::-1], room=32, rows=20) == scale_for(PAIR, room=32, rows=20)


def test_the_largest_pool_decides_how_much_a_cell_holds() -> None:
    double = lane("paged", blocks=5000, pool_tokens=80_000)
    assert scale_for((PAIR[0], double), room=32, rows=20).tokens == 128


@given(
    st.integers(1, 10**6), st.integers(1, 300), st.integers(1, 4096), st.integers(20, 64), st.integers(4, 40)
)
def test_the_pool_always_fits(blocks: int, block: int, region: int, room: int, rows: int) -> None:
    info = lane(
        "contiguous",
        blocks=blocks,
        block_size=block,
        pool_tokens=blocks * block,
        region_blocks=min(region, blocks),
    )
    scale = scale_for((info,), room=room, rows=rows)
    assert scale.rows_of(info) <= rows
    assert 1 <= scale.width <= room
    assert scale.tokens % block == 0
