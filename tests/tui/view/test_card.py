"""The four forms of a lane's card, character by character."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.frames.counts import Percentiles
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.card import AREAS, draw_card
from kvtui.tui.view.ink import BAD, Ink
from kvtui.tui.view.layout import GRID, Form
from kvtui.tui.view.palette import Look
from tests.tui.frames import contiguous_frame, counters, lane, paged_frame, scene

LOOK = Look()


def text(form: Form, lane: int, look: Look = LOOK, **changes: object) -> list[str]:
    return [plain(line).rstrip() for line in draw_card(scene(**changes), lane, form, look).lines()]


def test_the_line_form() -> None:
    assert text(Form.LINE, 1) == [
        " Paged  16-token blocks",
        " █▀▀▀ █▀▀▀",
        " █▀▀█ █▀▀█   3.5x",
        " ▀▀▀▀ ▀▀▀▀",
        " running at once",
        " waiting  15  done 212",
        " █ stored 98%   ▌ ends 1%      free 1%",
    ]


def test_the_small_form() -> None:
    lines = text(Form.SMALL, 0)
    assert lines[:4] == [
        " Contiguous  reserves 2,048 each",
        " ▄█  █▀▀█   running at once",
        "  █  ▀▀▀█   peak 19  mean 18.3",
        " ▀▀▀ ▀▀▀▀",
    ]
    assert lines[14:] == [
        " " + "━" * 32,
        " █ stored  ▒ later   ░ never   ╱ hole",
        "   19%       12%       66%       3%",
        " waiting 143  done 131  tok/s   685",
    ]


def test_the_mini_form_tells_most_of_it() -> None:
    lines = text(Form.MINI, 0)
    assert lines[8].split() == ["█", "stored", "19%", "▒", "later", "12%", "░", "never", "66%"]
    assert lines[9].split()[:4] == ["waiting", "143", "done", "131"]
    assert all(len(line) <= 40 for line in lines)


@pytest.mark.parametrize("form", list(Form))
def test_what_a_lane_beside_a_server_is_stands_whole_over_it(form: Form) -> None:
    for subtitle in ("reserves 2,048 each", "16-token blocks", "reserves its exact length"):
        infos = tuple(
            lane("contiguous", subtitle=f"simulated on A100-SXM4 80 GB, {subtitle}") for _ in range(2)
        )
        title = text(form, 1, lanes=infos)[0]
        assert "…" not in title
        assert " sim" in title, "and that it is simulated"


def test_the_medium_form() -> None:
    lines = text(Form.MEDIUM, 1)
    assert lines[0] == "  Paged  16-token blocks" + "step 1,798".rjust(35)
    assert lines[1] == " " * 37 + "██████  ██████"
    assert [line.strip() for line in lines[7:]] == [
        "running at once  3.5x",
        "peak 86   mean 53.4",
        "",
        "▀" * 22,
        "█ stored         98.0%",
        "▌ block ends      1.4%",
        "free            0.6%",
        "",
        "",
        "",
        "waiting             15",
        "finished           212",
        "tokens/s         1,209",
        "TTFT p50         0.1 s",
    ]


def test_the_large_form() -> None:
    lines = text(Form.LARGE, 0)
    assert lines[0] == "  Contiguous  reserves 2,048 each" + "step 2,769".rjust(33)
    assert lines[2:7] == [
        "    ██    ██████    running at once",
        "  ████    ██  ██    peak 19   mean 18.3",
        "    ██    ██████",
        "    ██        ██    waiting   143  preempted    0  TTFT p50 18.0 s",
        "  ██████  ██████    finished  131  tokens/s   685  TTFT p99 34.3 s",
    ]
    assert lines[49:] == [
        "  " + "▀" * 64,
        "  █ stored    ▒ held for later    ░ never used    ╱ holes",
        "    19.1%       12.5%               65.7%           2.7%",
    ]


@pytest.mark.parametrize("form", list(Form))
def test_the_areas_hold_all_the_text_and_none_of_the_grid(form: Form) -> None:
    canvas = draw_card(scene(), 1, form, LOOK)
    covered = set()
    for area in AREAS[form]:
        covered |= {(x, y) for x in range(area.x, area.right) for y in range(area.y, area.bottom)}
    drawn = {
        (x, y)
        for y, line in enumerate(map(plain, canvas.lines()))
        for x, char in enumerate(line)
        if char != " "
    }
    assert drawn <= covered
    grid = GRID[form]
    under = {(x, y) for x in range(grid.x, grid.right) for y in range(grid.y, grid.bottom)}
    assert not covered & under


@pytest.mark.parametrize("form", list(Form))
def test_large_numbers_do_not_run_into_each_other(form: Form) -> None:
    full = paged_frame(
        step=1_234_567,
        counters=counters(
            running=1023,
            waiting=123_456,
            finished=7_654_321,
            rejected=99_999,
            preemptions=54_321,
            batch_peak=1024,
            batch_mean=1000.4,
            output_tokens_per_s=123_456.7,
            ttft=Percentiles(None, 5000.0, None, 99_999.0, 9),
        ),
    )
    lines = text(form, 1, frames=(contiguous_frame(), full))
    body = "\n".join(lines)
    for label in ("waiting", "finished", "done", "tok/s", "tokens/s", "TTFT p50", "preempted"):
        for line in lines:
            if label in line:
                after = line[line.index(label) + len(label) :]
                assert after.startswith(" "), line
    assert "1023" not in body, "drawn large, not written"
    assert all(len(line) <= int(form.value.split("x")[0]) for line in lines)


def test_the_ratio_is_not_shown_on_the_baseline_nor_over_nothing() -> None:
    assert "x" not in text(Form.MEDIUM, 0)[7]
    idle = contiguous_frame(counters=counters(running=0))
    assert text(Form.MEDIUM, 1, frames=(idle, paged_frame()))[7].strip() == "running at once"


def test_a_lane_with_nobody_left_to_let_in_is_not_compared() -> None:
    last = paged_frame(counters=counters(running=2, finished=338, unfinished=2))
    assert text(Form.MEDIUM, 1, frames=(contiguous_frame(), last))[7].strip() == "running at once"


def test_a_lane_that_has_ended_says_when() -> None:
    done = paged_frame(done=True, time_s=115.1, counters=counters(finished=340))
    assert text(Form.MEDIUM, 1, frames=(contiguous_frame(), done))[7].strip() == "done at 01:55.1"
    cut = paged_frame(done=True, time_s=60.1, counters=counters(waiting=5, unfinished=5))
    assert text(Form.MEDIUM, 1, frames=(contiguous_frame(), cut))[7].strip().startswith("cut at 01:00.1")


def test_focus_is_a_mark_and_an_underline() -> None:
    line = draw_card(scene(focus=1), 1, Form.MEDIUM, LOOK).lines()[0]
    assert plain(line).startswith("▸ Paged")
    assert any(ink.underline and run == "Paged" for run, ink in line)
    assert not any(ink.underline for _, ink in draw_card(scene(focus=1), 0, Form.MEDIUM, LOOK).lines()[0])


def test_a_lane_that_broke_says_so_in_its_title() -> None:
    line = draw_card(scene(failures=(None, "ValueError: broken")), 1, Form.MEDIUM, LOOK).lines()[0]
    assert "stopped: ValueError: broken" in plain(line)
    assert any(ink == BAD for _, ink in line)


def test_rejected_requests_are_seen_where_there_are_any() -> None:
    refused = replace(paged_frame(), counters=counters(rejected=3))
    assert text(Form.MEDIUM, 1, frames=(contiguous_frame(), refused))[16].split() == ["rejected", "3"]


def test_ascii_digits_are_bold_and_there_is_no_bar() -> None:
    canvas = draw_card(scene(), 0, Form.SMALL, Look(ascii=True))
    assert [plain(line).rstrip() for line in canvas.lines()[1:4]] == [
        "      _     running at once",
        "   | |_|    peak 19  mean 18.3",
        "   |  _|",
    ]
    assert any(ink == Ink("base", bold=True) for _, ink in canvas.lines()[3])
    assert not plain(canvas.lines()[14]).strip()
