from __future__ import annotations

from dataclasses import replace

from kvtui.tui.view.braille import Dots
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.chart import chart_lines
from kvtui.tui.view.ink import lane_ink
from tests.tui.frames import contiguous_frame, counters, empty_frame, paged_frame, scene


def row(dots: Dots, y: int) -> str:
    row = [" "] * dots.width
    for x, text, _ in dots.runs(y):
        row[x : x + len(text)] = text
    return "".join(row)


def test_a_step_line_rises_in_one_column() -> None:
    dots = Dots(4, 1)
    end = dots.steps([(0.0, 0), (4.0, 3)], 0, end=7.0, top=3, dashed=False)
    assert row(dots, 0) == "⣀⣀⡏⠉"
    assert end == 0


def test_a_dashed_line_leaves_two_of_six_columns_out() -> None:
    dots = Dots(6, 1)
    dots.steps([(0.0, 0)], 0, end=1.0, top=8, dashed=True)
    assert row(dots, 0) == "⣀⣀ ⣀⣀ "


def test_a_cell_keeps_the_dots_of_all_lines_and_belongs_to_the_last() -> None:
    dots = Dots(1, 1)
    dots.dot(0, 0, 0)
    dots.dot(1, 3, 1)
    assert [*dots.runs(0)] == [(0, "⢁", 1)]
    assert not [*Dots(1, 1).runs(0)]


def test_the_values_at_the_ends_of_the_lines_are_the_large_figures() -> None:
    lines = [plain(line) for line in chart_lines(scene(), width=60, height=6)]
    assert lines[0].startswith("  Batch size  requests running at once")
    assert lines[1].startswith("   96 ")
    assert lines[4].startswith("    0 ")
    assert [line[46:].strip() for line in lines if "Paged" in line] == ["66 Paged"]
    assert [line[46:].strip() for line in lines if "Contiguous" in line] == ["19 Contiguous"]
    assert lines[5].split() == ["00:00", "00:37", "01:14"]


def test_names_that_would_stand_in_one_row_move_apart() -> None:
    alike = paged_frame(batch=contiguous_frame().batch, counters=counters(running=19, batch_peak=86))
    lines = chart_lines(scene(frames=(contiguous_frame(), alike)), width=60, height=6)
    named = [at for at, line in enumerate(lines) if "Paged" in plain(line) or "Contiguous" in plain(line)]
    assert len(named) == 2


def test_an_odd_height_has_a_tick_in_the_middle() -> None:
    lines = [plain(line) for line in chart_lines(scene(), width=62, height=13)]
    assert lines[6].startswith("   48 ")


def test_lines_wear_the_colour_of_their_lane() -> None:
    inks = {
        ink for line in chart_lines(scene(), width=60, height=6)[1:5] for text, ink in line if text.strip()
    }
    assert {lane_ink(0), lane_ink(1)} <= inks


def test_nothing_has_happened_yet() -> None:
    nothing = replace(scene(frames=(empty_frame(), empty_frame())), time_s=0.0)
    lines = [plain(line) for line in chart_lines(nothing, width=60, height=6)]
    assert lines[1].startswith("    8 ")
    assert "0 Paged" in "".join(lines)


def test_ascii_draws_without_braille() -> None:
    text = "".join(plain(line) for line in chart_lines(scene(), width=60, height=6, ascii=True))
    assert text.isascii()
    assert "*" in text
    assert "o" in text
