from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.card import draw_card
from kvtui.tui.view.figures import figure_lines
from kvtui.tui.view.ink import WARN
from kvtui.tui.view.layout import Form
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.summary import summary_lines
from tests.tui.frames import HEADING, contiguous_frame, empty_frame, lane, paged_frame, scene


def test_two_groups_side_by_side() -> None:
    lines = figure_lines(scene(), width=60, height=6)
    assert [plain(line).rstrip() for line in lines] == [
        "  Figures    Contig…   Paged              Contig…   Paged",
        "  running         19      66   tokens/s       685   1,209",
        "  waiting        143      15   TTFT p50    18.0 s   0.1 s",
        "  preempted        0       8   TTFT p99    34.3 s   0.2 s",
        "  finished       131     212   TPOT p50     27 ms   44 ms",
        "  rejected         0       0   TPOT p99     31 ms   52 ms",
    ]
    assert ("8", WARN) in lines[3]


def test_dollars_where_there_is_a_price() -> None:
    priced = replace(scene(), heading=replace(scene().heading, usd_per_hour=3.6))
    last = plain(figure_lines(priced, width=60, height=7)[6]).split()
    assert last == ["$/M", "tok", *(f"{1000 / f.counters.output_tokens_per_s:,.2f}" for f in priced.frames)]
    assert len(figure_lines(priced, width=60, height=6)) == 6, "the last row to be left out"


def test_times_in_the_middle_stand_with_their_error_or_with_its_band() -> None:
    """Behind the label, or the ends of the band where there is room: 27 ms / 1.0678 and times it."""
    off = replace(scene(), heading=replace(HEADING, tpot_off_pct=6.78, ttft_off_pct=22.0))
    low, wide = (
        [" ".join(plain(line).split()) for line in figure_lines(off, width=width, height=6)]
        for width in (60, 110)
    )
    assert low[2].endswith(" TTFT p50 ±22% 18.0 s 0.1 s")
    assert low[4].endswith(" TPOT p50 ±7% 27 ms 44 ms")
    assert wide[2].endswith(" TTFT p50 18.0 s 14.8–22.0 0.1 s 0.08–0.12")
    assert wide[4].endswith(" TPOT p50 27 ms 25–28 44 ms 41–47")
    for lines in (low, wide):
        assert lines[3].endswith(" TTFT p99 34.3 s 0.2 s"), "others measured means only"
    assert [plain(line) for line in figure_lines(off, width=58, height=6)] == [
        plain(line) for line in figure_lines(scene(), width=58, height=6)
    ], "no room for either"


@pytest.mark.parametrize("form", [Form.MEDIUM, Form.LARGE])
def test_a_card_tells_what_its_tokens_cost(form: Form) -> None:
    priced = replace(scene(), heading=replace(HEADING, usd_per_hour=3.6))
    for at, frame in enumerate(priced.frames):
        card = "\n".join(plain(line) for line in draw_card(priced, at, form, Look()).lines())
        usd = f"{1000 / frame.counters.output_tokens_per_s:,.2f}"
        assert re.search(rf"\$/M tok +{re.escape(usd)}\b", card)
    bare = "\n".join(plain(line) for line in draw_card(scene(), 0, form, Look()).lines())
    assert "$" not in bare


def test_one_under_the_other_in_a_narrow_panel() -> None:
    lines = [plain(line).rstrip() for line in figure_lines(scene(), width=40, height=14, margin=1)]
    assert lines[0] == " Figures    Contiguous      Paged"
    assert lines[1] == " running            19         66"
    assert lines[8] == " tokens/s          685      1,209"


def test_the_hint_covers_no_name() -> None:
    drawer = [
        plain(line).rstrip()
        for line in figure_lines(scene(), width=60, height=12, margin=1, hint="tab: close")
    ]
    assert drawer[0] == " Figures" + "tab: close".rjust(51)
    assert drawer[1].split() == ["Contigu…", "Paged"] * 2
    low = [plain(line) for line in figure_lines(scene(), width=60, height=6, hint="tab: running")]
    assert low[0].split() == ["Figures", "Contig…", "Paged", "Contig…", "Paged"], (
        "without a row to spare it goes"
    )


def test_names_that_begin_alike_show_their_ends() -> None:
    lanes = tuple(lane("contiguous", title=title) for title in ("Contig-pow2", "Contig-exact"))
    line = plain(figure_lines(scene(lanes=lanes), width=60, height=6)[0])
    assert line.split() == ["Figures", "C…-pow2", "C…exact", "C…-pow2", "C…exact"]


def test_what_is_not_known_is_not_nought() -> None:
    lines = [
        plain(line) for line in figure_lines(scene(frames=(empty_frame(), empty_frame())), width=60, height=6)
    ]
    assert lines[2].split()[-2:] == ["n/a", "n/a"]


def limited(**changes: object) -> Scene:
    frames = (
        contiguous_frame(counters=contiguous_frame().counters._replace(good=66)),
        paged_frame(counters=paged_frame().counters._replace(good=211)),
    )
    return scene(heading=replace(HEADING, slo="first token 2 s", usd_per_hour=0.9), frames=frames, **changes)


@pytest.mark.parametrize("height", [6, 7])
def test_what_keeps_the_limits_and_costs_has_room_beside_the_rest(height: int) -> None:
    lines = [plain(line) for line in figure_lines(limited(), width=66, height=height)]
    assert any("$/M tok" in line for line in lines)
    row = next(line for line in lines if "SLO kept" in line)
    assert row.index("50.3%") < row.index("99.5%"), "211 of 212 are not all"


@pytest.mark.parametrize("form", [Form.SMALL, Form.TALL, Form.MEDIUM, Form.LARGE])
def test_each_card_tells_how_many_keep_the_limits(form: Form) -> None:
    for at, share in ((0, "50(.3)?%"), (1, "99(.5)?%")):
        card = "\n".join(plain(line) for line in draw_card(limited(), at, form, Look()).lines())
        assert re.search(rf"SLO( kept)? +{share}", card)
        bare = "\n".join(plain(line) for line in draw_card(scene(), at, form, Look()).lines())
        assert "SLO" not in bare


def test_the_summary_tells_limits_and_how_far_off_times_are() -> None:
    errors = {"tpot_error": "±8 % (p90 21 %)", "ttft_error": "±15 % (p90 40 %)"}
    shown = limited()
    shown = replace(shown, heading=replace(shown.heading, **errors))
    words = " ".join(" ".join(plain(line).split()) for line in summary_lines(shown, Look(), width=120))
    assert "SLO kept 50.3% 99.5%" in words
    assert "Limits first token 2 s" in words
    assert "TPOT was off by ±8 % (p90 21 %), TTFT by ±15 % (p90 40 %)." in words
