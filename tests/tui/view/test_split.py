from __future__ import annotations

import pytest

from kvtui.frames.counts import Split
from kvtui.tui.view.canvas import Canvas, plain
from kvtui.tui.view.ink import T1, WARN_BOLD
from kvtui.tui.view.palette import PALETTES, Look
from kvtui.tui.view.split import (
    amber,
    draw_bar,
    draw_columns,
    draw_list,
    draw_row,
    parts_of,
    value_ink,
)
from tests.tui.frames import contiguous_frame, counters, lane, paged_frame

LOOK = Look()
CONTIGUOUS, PAGED = lane("contiguous"), lane("paged")


def labels(split: Split, manager: str) -> list[str]:
    frame = contiguous_frame(counters=counters(split=split))
    return [part.label for part in parts_of(frame, lane(manager), 0, LOOK)]


def test_the_parts_of_each_manager() -> None:
    assert labels(Split(19, 12, 66, 3, 0, 0, 0), "contiguous") == [
        "stored",
        "held for later",
        "never used",
        "holes",
    ]
    assert labels(Split(98, 0, 0, 0, 1, 0, 1), "paged") == ["stored", "block ends", "free"]
    assert labels(Split(90, 0, 0, 0, 1, 9, 0), "paged") == ["stored", "block ends", "cached", "free"]


def test_a_reserving_lane_shows_free_memory_instead_of_a_hole_and_both_if_both_are_there() -> None:
    assert labels(Split(0, 0, 0, 0, 0, 0, 100), "contiguous")[3:] == ["free"]
    assert labels(Split(10, 10, 60, 4, 0, 0, 16), "contiguous")[3:] == ["holes", "free"]


def test_nothing_of_the_pool_is_left_out() -> None:
    split = Split(10, 11, 12, 13, 14, 15, 25)
    for manager in ("contiguous", "paged"):
        frame = contiguous_frame(counters=counters(split=split))
        assert sum(part.percent for part in parts_of(frame, lane(manager), 0, LOOK)) == 100


def test_one_number_is_amber_the_waste_that_matters() -> None:
    parts = parts_of(contiguous_frame(), CONTIGUOUS, 0, LOOK)
    assert [part.label for part in parts if value_ink(part, parts) == WARN_BOLD] == ["never used"]
    small = parts_of(paged_frame(), PAGED, 1, LOOK)
    assert amber(small) is None
    assert {value_ink(part, small) for part in small} == {T1}


def test_the_list_is_the_legend_of_the_grid() -> None:
    canvas = Canvas(22, 4)
    draw_list(canvas, 0, 0, parts_of(contiguous_frame(), CONTIGUOUS, 0, LOOK), width=22)
    assert [plain(line) for line in canvas.lines()] == [
        "█ stored         19.1%",
        "▒ held for later 12.5%",
        "░ never used     65.7%",
        "╱ holes           2.7%",
    ]


def test_columns_put_the_numbers_under_their_labels() -> None:
    canvas = Canvas(38, 2)
    parts = parts_of(contiguous_frame(), CONTIGUOUS, 0, LOOK)
    draw_columns(canvas, 0, 0, parts, width=38, short=True)
    assert [plain(line).rstrip() for line in canvas.lines()] == [
        "█ stored  ▒ later   ░ never   ╱ hole",
        "  19%       12%       66%       3%",
    ]


def test_one_row_for_the_smallest_terminal() -> None:
    canvas = Canvas(58, 1)
    draw_row(canvas, 0, 0, parts_of(contiguous_frame(), CONTIGUOUS, 0, LOOK), width=58)
    assert plain(canvas.lines()[0]).rstrip() == "█ stored 19%   ▒ later 12%   ░ never 66%   ╱ hole 3%"


@pytest.mark.parametrize("short", [True, False])
def test_five_parts_fit_where_four_do(short: bool) -> None:
    split = Split(10, 10, 60, 4, 0, 0, 16)
    parts = parts_of(contiguous_frame(counters=counters(split=split)), CONTIGUOUS, 0, LOOK)
    width = 38 if short else 63
    canvas = Canvas(width, 2)
    draw_columns(canvas, 0, 0, parts, width=width, short=short)
    assert plain(canvas.lines()[0]).rstrip().endswith("free")
    row = Canvas(58, 1)
    draw_row(row, 0, 0, parts, width=58)
    assert "free 16%" in plain(row.lines()[0])


def test_the_bar_is_in_the_order_of_the_list() -> None:
    canvas = Canvas(22, 1)
    parts = parts_of(contiguous_frame(), CONTIGUOUS, 0, LOOK)
    draw_bar(canvas, 0, 0, parts, width=22, glyph="▀")
    assert [(len(text), ink) for text, ink in canvas.lines()[0]] == [
        (length, part.ink) for length, part in zip((4, 3, 14, 1), parts, strict=True)
    ]


def test_without_colours_free_memory_has_a_shape() -> None:
    looks = (Look(ascii=True), Look(PALETTES["none"]), LOOK)
    shapes = [parts_of(paged_frame(), PAGED, 1, look)[-1].glyph for look in looks]
    assert shapes == [".", "·", " "]
