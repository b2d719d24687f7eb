"""The labels of the main screen in Japanese: all of them, and in the cells they have."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kvtui.frames.counts import Split
from kvtui.tui.view.canvas import Line, cut, line_width, plain, text_width
from kvtui.tui.view.card import draw_card
from kvtui.tui.view.chart import chart_lines
from kvtui.tui.view.events import event_lines
from kvtui.tui.view.figures import cache_lines, figure_lines
from kvtui.tui.view.footer import footer_line
from kvtui.tui.view.header import header_line
from kvtui.tui.view.keys import hints, inspector_hints
from kvtui.tui.view.layout import Form
from kvtui.tui.view.listing import Listing
from kvtui.tui.view.palette import Look
from kvtui.tui.view.queues import queue_lines
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.timeline import timeline_line
from kvtui.tui.view.words import phrase, word
from kvtui.tui.view.words.labels_ja import LABELS
from tests.tui.frames import contiguous_frame, paged_frame, scene

JA = Look(language="ja")
NAMES = {
    "kvtui",
    "chat",
    "Llama",
    "B",
    "bf",
    "A",
    "G",
    "GB",
    "GiB",
    "KV",
    "GPU",
    "Contiguous",
    "Paged",
    "SLO",
}
UNITS = {"s", "ms", "x", "k", "tok", "r", "TTFT", "TPOT", "p", "M"}
KEYS = {"space", "tab", "i", "z", "m", "b", "a", "f", "o", "e", "q", "n", "S", "esc", "enter", "ctrl", "p"}


def japanese(**changes: object) -> Scene:
    split = Split(70.1, 12.5, 5.7, 2.7, 1.4, 7.0, 0.6)  # something of everything
    frames = tuple(
        replace(frame, counters=frame.counters._replace(split=split, rejected=3, waiting=1_209))
        for frame in (contiguous_frame(), paged_frame())
    )
    heading = replace(scene().heading, slo="TTFT 2 s")
    return scene(**({"frames": frames, "heading": heading, "language": "ja"} | changes))


def english(lines: object) -> set[str]:
    """Words in Latin letters that are neither names nor units."""
    text = " ".join(plain(line) for line in lines)  # type: ignore[attr-defined]
    return set(re.findall("[A-Za-z]+(?![A-Za-z…])", text)) - NAMES - UNITS - KEYS


def overlapping(lines: tuple[Line, ...]) -> bool:
    return any(line_width(line) != line_width(lines[0]) for line in lines)


@pytest.mark.parametrize("form", list(Form))
def test_a_card_is_japanese_and_no_label_runs_into_its_number(form: Form) -> None:
    for run in Run:
        for lane in (0, 1):
            lines = draw_card(japanese(run=run), lane, form, JA).lines()
            assert not english(lines)
            assert not overlapping(lines)
            for line in lines:
                assert not re.search(r"[ぁ-んァ-ヶ一-龠ー][\d,]", plain(line)), "label and number apart"
    text = "\n".join(plain(line) for line in draw_card(japanese(), 1, form, JA).lines())
    assert word("running at once", "ja") in text


@pytest.mark.parametrize(("width", "height"), [(60, 6), (60, 12), (62, 15), (120, 8)])
def test_panels_are_japanese(width: int, height: int) -> None:
    size = {"width": width, "height": height}
    for shown in (japanese(), japanese(listing=Listing("preempted"))):
        for lines in (
            chart_lines(shown, **size),
            event_lines(shown, **size),
            figure_lines(shown, **size),
            cache_lines(shown, **size),
            queue_lines(replace(shown, listing=Listing()), **size),
        ):
            assert not english(lines)
            assert not overlapping(lines)
    log = "\n".join(plain(line) for line in event_lines(japanese(), **size))
    verbs = set(re.findall(r"▍r\d+ +(\S+)", log))
    assert verbs
    assert verbs <= set(LABELS.values())


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("run", list(Run))
def test_what_frames_the_screen_is_japanese_and_fits(width: int, run: Run) -> None:
    shown = japanese(run=run)
    for line in (header_line(shown, width=width, margin=1), timeline_line(shown, width=width, margin=1)):
        assert line_width(line) == width
        assert not english([line])
    for entries in (
        hints(run=run, next_panel="waiting", blocks=True),
        inspector_hints(run, blocks=True),
    ):
        line, spots = footer_line(entries, width=width, margin=1, language="ja")
        assert line_width(line) == width
        assert not english([line])
        assert plain(line).rstrip().endswith("q 終了")
        assert spots[-1][1] <= width - 1, "and all of it can be clicked"
        assert spots[-1][1] - spots[-1][0] == text_width("q 終了")


def test_parts_of_the_split_are_told_apart() -> None:
    for labels in (
        ("stored", "held for later", "never used", "holes"),
        ("stored", "later", "never", "hole"),
        ("stored", "block ends", "cached", "free"),
        ("stored", "ends", "cached", "free"),
    ):
        said = [word(label, "ja") for label in labels]
        assert len(set(said)) == len(said)
        assert all(text_width(label) <= 14 for label in said)


def test_what_a_lane_is_and_what_has_no_words() -> None:
    assert phrase("reserves 2,048 each", "ja") == "各 2,048 を予約"
    assert (
        phrase("16-token blocks, no prefix cache, fp8", "ja") == "16 トークンのブロック、キャッシュなし、fp8"
    )
    assert phrase("4 above, 135 below", "ja") == "上に 4 件、下に 135 件"
    assert phrase("16-token blocks", "en") == "16-token blocks"
    assert word("nothing of ours", "ja") == "nothing of ours"
    assert cut(word("requests running at once", "ja"), 40) == word("requests running at once", "ja")
