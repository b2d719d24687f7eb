from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.tui.view.layout import GRID, Form
from kvtui.tui.view.scale import Scale, cell_words, scale_for
from tests.tui.frames import POOL, lane

PAIR = (lane("contiguous"), lane("paged"))
SLOT = 131_072  # bytes


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
    assert scale == Scale(width, GRID[form].height, tokens, SLOT)
    assert scale.rows_of(PAIR[0]) == rows


def test_a_region_that_is_no_power_of_two_still_ends_with_a_row() -> None:
    odd = lane("contiguous", region_blocks=100)
    scale = scale_for((odd, PAIR[1]), room=32, rows=20)
    assert scale == Scale(25, 20, 8 * 16, SLOT)
    assert scale.width * scale.tokens == 2 * 100 * 16


def test_a_region_that_fits_no_width_wraps() -> None:
    prime = lane("contiguous", region_blocks=127)
    assert scale_for((prime, PAIR[1]), room=32, rows=20) == Scale(32, 20, 64, SLOT)


def test_without_regions_the_grid_takes_the_whole_room() -> None:
    assert scale_for((PAIR[1], PAIR[1]), room=27, rows=20) == Scale(27, 20, 8 * 16, SLOT)


def test_the_reserving_lane_decides_wherever_it_stands() -> None:
    assert scale_for(PAIR[::-1], room=32, rows=20) == scale_for(PAIR, room=32, rows=20)


def test_the_largest_pool_decides_how_much_a_cell_holds() -> None:
    double = lane("paged", blocks=5000, pool_tokens=80_000, pool_bytes=80_000 * SLOT)
    assert scale_for((PAIR[0], double), room=32, rows=20).tokens == 128


def test_a_cell_is_as_many_bytes_in_every_lane() -> None:
    fp8 = lane("paged", blocks=5000, pool_tokens=80_000)  # twice the tokens in the same bytes
    scale = scale_for((*PAIR, fp8), room=32, rows=20)
    assert scale == scale_for(PAIR, room=32, rows=20)
    assert [scale.slots(info) for info in (*PAIR, fp8)] == [64, 64, 128]
    assert scale.rows_of(fp8) == scale.rows_of(PAIR[0])


def test_bytes_that_are_no_multiple_of_each_other() -> None:
    """A slot of 4.5 bits an element beside one of 16."""
    small = lane("paged", pool_bytes=POOL * SLOT * 9 // 32)
    assert scale_for((PAIR[0], small), room=32, rows=20).slots(small) == Fraction(64 * 32, 9)


def test_where_the_bytes_of_a_lane_are_not_known_slots_are_taken_for_alike() -> None:
    unsized = lane("paged", pool_bytes=None)
    scale = scale_for((PAIR[0], unsized), room=32, rows=20)
    assert [scale.slots(PAIR[0]), scale.slots(unsized)] == [64, 64]


def test_how_much_a_cell_is_in_words() -> None:
    assert cell_words(Scale(32, 20, 64, SLOT), PAIR) == "1 cell = 4 blocks = 64 tokens = 8 MiB"
    assert cell_words(Scale(64, 40, 16, SLOT), PAIR) == "1 cell = 1 block = 16 tokens = 2 MiB"
    unsized = lane("paged", pool_bytes=None)
    assert cell_words(Scale(32, 20, 64), (unsized, unsized)) == "1 cell = 4 blocks = 64 tokens"
    larger = lane("paged", block_size=128), lane("paged")
    assert cell_words(Scale(32, 20, 64, SLOT), larger) == "1 cell = 64 tokens = 8 MiB"
    fp8 = lane("paged", title="Fp8", pool_bytes=POOL * SLOT // 2)
    words = "1 cell = 8 MiB: 64 tokens of Contiguous, 128 tokens of Fp8"
    assert cell_words(Scale(32, 20, 64, SLOT), (PAIR[0], fp8)) == words


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
