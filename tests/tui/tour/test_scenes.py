"""The scenes are real runs that come to their point, at both sizes, and say what is so."""

from __future__ import annotations

import string

import numpy as np
import pytest

from kvtui.frames.frame import Cell, EventKind
from kvtui.tui.tour.act import Act
from kvtui.tui.tour.page import picture_of
from kvtui.tui.tour.scenes import SCENES
from kvtui.tui.tour.traffic import BLOCK, LONG, OPENING, WIDTH
from kvtui.tui.view.canvas import line_width, plain, text_width
from kvtui.tui.view.palette import PALETTES, Look
from kvtui.tui.view.tourpage import rows_for, tour_lines
from kvtui.tui.view.words import LANGUAGES, tour_en, tour_ja
from kvtui.tui.view.words.tour import TourText

KEYS = [scene.key for scene in SCENES]
SIZES = [(60, 16), (80, 24), (120, 36), (200, 60), (300, 100)]


@pytest.fixture(scope="module", params=[10, 20])
def acts(request: pytest.FixtureRequest) -> dict[str, Act]:
    return {scene.key: Act(scene, request.param) for scene in SCENES}


def fields(text: TourText) -> set[str]:
    parts = (text.title, text.above, *text.notes, text.figure, text.text)
    return {name for part in parts for _, name, _, _ in string.Formatter().parse(part) if name}


@pytest.mark.parametrize("key", KEYS)
def test_every_scene_has_its_words_in_every_language(key: str, acts: dict[str, Act]) -> None:
    for table in (tour_en.TOUR, tour_ja.TOUR):
        assert fields(table[key]) <= set(acts[key].point.values)
        assert len(table[key].notes) >= len(acts[key].point.swatches)


@pytest.mark.parametrize("table", [tour_en.TOUR, tour_ja.TOUR])
@pytest.mark.parametrize("key", KEYS)
def test_no_sentence_is_cut_on_80_cells(key: str, table: dict[str, TourText], acts: dict[str, Act]) -> None:
    words = table[key].filled(acts[key].point.values)
    assert text_width(words.above) <= 78
    assert len("1/7") + 2 + text_width(words.title) <= 78


def test_contiguous_memory_is_locked_and_not_used(acts: dict[str, Act]) -> None:
    act = acts["waste"]
    values = act.point.values
    filled, later, never, held = (int(values[name]) for name in ("filled", "later", "never", "held"))
    assert filled + later + never == held == WIDTH * BLOCK
    cells = act.frame.cells
    assert len(set(cells.owner[sorted(act.point.lit)].tolist())) == 1
    assert int(cells.stored[sorted(act.point.lit)].sum()) == filled
    assert int(values["run"]) == act.rows
    assert act.frame.counters.waiting == int(values["wait"])


def test_a_block_table_says_where_the_blocks_are(acts: dict[str, Act]) -> None:
    act = acts["tables"]
    first = int(act.point.values["table"].split()[0].split("→")[1])
    assert first in act.point.lit
    assert len(act.point.lit) == int(act.point.values["blocks"])
    owners = set(act.frame.cells.owner[sorted(act.point.lit)].tolist())
    assert owners == {int(act.point.values["r"][1:])}
    assert sorted(act.point.lit) != list(range(min(act.point.lit), max(act.point.lit) + 1)), "scattered"
    assert int(act.point.figure) == act.frame.counters.running > 2 * act.rows


def test_a_request_grows_by_a_block_when_its_last_one_is_full(acts: dict[str, Act]) -> None:
    act = acts["growth"]
    stored = act.frame.cells.stored
    assert stored[act.point.at] == 1
    others = sorted(act.point.lit - {act.point.at})
    assert (stored[others] == BLOCK).all()
    assert len(others) * BLOCK == int(act.point.values["full"])


def test_who_writes_first_into_a_shared_block_gets_a_copy_of_it(acts: dict[str, Act]) -> None:
    act = acts["copy"]
    refs = act.frame.cells.refs
    assert act.point.at in act.frame.copied
    assert act.point.at in act.point.lit
    assert refs[act.point.at] == 1, "its own"
    assert max(refs[sorted(act.point.lit)]) == int(act.point.values["owners"]) > 1, "the others are shared"
    assert int(act.point.figure) > 0


def test_a_prompt_finds_what_an_earlier_one_computed(acts: dict[str, Act]) -> None:
    act = acts["cache"]
    refs = act.frame.cells.refs[sorted(act.point.lit)]
    assert (refs > 1).sum() == OPENING // BLOCK
    assert act.frame.cells.refs[act.point.at] == int(act.point.values["owners"])
    assert any(event.kind is EventKind.HIT and event.a == OPENING for event in act.frame.events)


def test_one_gives_back_all_its_blocks(acts: dict[str, Act]) -> None:
    act = acts["preemption"]
    victim = int(act.point.values["r"][1:])
    assert len(act.point.lit) == int(act.point.values["given"])
    assert victim not in act.frame.cells.owner
    assert victim in [row.request for row in act.frame.waiting if row.preempted]
    state = act.frame.cells.state[sorted(act.point.lit)]
    assert set(np.unique(state)) <= {Cell.FREE, Cell.CACHED, Cell.HELD}


def test_a_long_prompt_is_computed_in_chunks_beside_the_others(acts: dict[str, Act]) -> None:
    act = acts["chunks"]
    values = act.point.values
    assert int(values["done"]) + int(values["left"]) == LONG
    assert 0 < int(values["chunk"]) < int(values["done"])
    assert int(act.frame.cells.stored[sorted(act.point.lit)].sum()) == int(values["done"])


@pytest.mark.parametrize("key", KEYS)
def test_watched_from_the_start_it_comes_to_the_same_point(key: str, acts: dict[str, Act]) -> None:
    act = acts[key]
    point, cells = act.scene.point(act._moment), act.frame.cells
    act.rewind()
    assert not act.there
    pictures = 0
    while not act.there:
        act.advance()
        pictures += 1
    assert act.scene.point(act._moment) == point
    assert (act.frame.cells.owner == cells.owner).all()
    assert pictures <= 120


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_that_is_said_is_there(size: tuple[int, int], language: str) -> None:
    width, height = size
    for place, scene in enumerate(SCENES):
        act = Act(scene, rows_for(width, height))
        picture = picture_of(act, place, len(SCENES), language)
        lines = tour_lines(picture, Look(language=language), width=width, height=height - 2)
        assert all(line_width(line) == width for line in lines)
        shown = "".join("".join(plain(line).split()) for line in lines)
        assert "".join(picture.text.title.split()) in shown
        assert "".join(picture.text.text.split())[-20:] in shown, scene.key
        assert act.point.values["r"] in shown


def test_what_is_not_meant_loses_its_colour_but_not_its_shape() -> None:
    act = Act(SCENES[0], 10)
    picture = picture_of(act, 0, 6, "en")
    for look in (Look(), Look(PALETTES["none"]), Look(ascii=True)):
        lines = tour_lines(picture, look, width=80, height=22)
        inks = {ink.fg for line in lines[3:13] for text, ink in line if text.strip()}
        assert "ghost" in inks
        assert len([name for name in inks if name.startswith("h") and name[1:].isdigit()]) == 1
