"""The tables of words: the same situations and fields in every language, and room for all of them."""

from __future__ import annotations

from dataclasses import replace
from string import Formatter

import pytest

from kvtui.frames.frame import Event, EventKind
from kvtui.tui.view.canvas import line_width, plain
from kvtui.tui.view.captions import Room, caption, told_lines
from kvtui.tui.view.layout import plan_for
from kvtui.tui.view.situation import Situation
from kvtui.tui.view.words import LANGUAGES, Say, en, ja, language_of
from tests.tui.frames import contiguous_frame, lane, paged_frame, scene

SIZES = [(80, 24), (120, 36), (160, 48), (200, 60), (300, 100)]
PREEMPTED = Situation("preempted", 1, Event(74.0, 1798, EventKind.PREEMPTED, 10_279, 120, 10_266))
ITSELF = Situation("preempted", 1, Event(74.0, 1798, EventKind.PREEMPTED, 10_279, 120, 10_279))


def fields(entry: Say) -> set[str]:
    texts = (*entry.wide, *entry.narrow, entry.line)
    return {name for text in texts for _, name, _, _ in Formatter().parse(text) if name}


def test_japanese_says_all_that_english_says() -> None:
    assert set(en.CAPTIONS) == set(ja.CAPTIONS)
    for key, entry in en.CAPTIONS.items():
        assert fields(ja.CAPTIONS[key]) <= fields(entry), key
        assert bool(entry.wide) == bool(ja.CAPTIONS[key].wide), key


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("told", [Situation("full"), PREEMPTED, ITSELF], ids=["full", "other", "itself"])
def test_a_sentence_stands_whole_under_its_lane(
    language: str, size: tuple[int, int], told: Situation
) -> None:
    for lanes in (2, 3, 4):
        plan = plan_for(*size, lanes=lanes)
        if plan is None or not plan.columns:
            continue
        more = tuple(lane("paged", name=f"paged-{at}", title=f"Paged-{at}") for at in range(1, lanes))
        shown = scene(
            lanes=(lane("contiguous"), *more), frames=(contiguous_frame(), *(paged_frame(),) * len(more))
        )
        room = Room(plan.width - 2 * plan.margin, plan.caption.height, language)
        lines = told_lines(shown, told, plan.columns, room)
        text = "".join(plain(line) for line in lines)
        assert "…" not in text
        assert text.count("。" if language == "ja" else ". ") >= lanes - 1
        assert all(line_width(line) <= plan.width - 2 * plan.margin for line in lines)


@pytest.mark.parametrize("name", ["start", "idle", "keep up", "full", "no gain", "one done", "end"])
@pytest.mark.parametrize(("width", "rows"), [(116, 2), (78, 2), (58, 1)])
def test_japanese_fits_by_cells(name: str, width: int, rows: int) -> None:
    done = replace(paged_frame(), done=True, time_s=3599.0)
    shown = scene(frames=(contiguous_frame(), done))
    lines = caption(shown, Situation(name), Room(width, rows, "ja"))
    assert 1 <= len(lines) <= rows
    assert all(line_width(line) <= width for line in lines)
    assert not any("…" in plain(line) for line in lines)


def test_what_concerns_all_lanes_is_said_once() -> None:
    columns = plan_for(120, 36, lanes=2).columns  # type: ignore[union-attr]
    lines = told_lines(scene(), Situation("keep up"), columns, Room(116, 2))
    assert [plain(line) for line in lines] == ["Both keep up: 19 and 66 requests run, nobody waits."]


def test_the_locale_decides_about_the_language() -> None:
    assert language_of({"LANG": "ja_JP.UTF-8"}) == "ja"
    assert language_of({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}) == "en"
    assert language_of({"LC_MESSAGES": "ja_JP.UTF-8", "LANG": "de_DE.UTF-8"}) == "ja"
    assert language_of({"LANG": "de_DE.UTF-8"}) == "en"
    assert language_of({}) == "en"
