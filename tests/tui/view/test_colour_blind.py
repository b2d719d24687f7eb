"""With every palette, of 24 bits down to none, and for every kind of colour vision: what means something is
told by distance of colour, or else by shape."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from kvtui.frames.counts import LaneInfo, Split
from kvtui.frames.frame import Frame
from kvtui.tui.view.canvas import Canvas
from kvtui.tui.view.card import draw_card
from kvtui.tui.view.cells import Kind, code
from kvtui.tui.view.glyphs import glyph, in_ascii
from kvtui.tui.view.ink import HUES
from kvtui.tui.view.layout import Form
from kvtui.tui.view.palette import PALETTES, Look, Palette
from kvtui.tui.view.split import parts_of
from kvtui.tui.view.timeline import MARKS, timeline_line
from tests.tui.frames import contiguous_frame, counters, lane, paged_frame, scene
from tests.tui.view.vision import TABLES, Rgb, apart, colour

EASY, FAINT = 6.0, 8.0  # least distances: of neighbours, and of anything from the background
COLOURED = [palette for palette in PALETTES.values() if palette.colour]
NAMED = {"ids": lambda value: getattr(value, "name", None)}
LANES: list[tuple[LaneInfo, Frame]] = [
    (lane("contiguous"), contiguous_frame(counters=counters(split=Split(30, 20, 40, 10, 0, 0, 0)))),
    (lane("contiguous"), contiguous_frame(counters=counters(split=Split(0, 30, 30, 0, 0, 0, 40)))),
    (lane("paged"), paged_frame(counters=counters(split=Split(60, 0, 0, 0, 10, 20, 10)))),
    (lane("paged"), paged_frame(counters=counters(split=Split(80, 0, 0, 0, 10, 0, 10)))),
]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("palette", COLOURED, **NAMED)
def test_neighbours_in_the_bar_of_memory_are_told_apart(palette: Palette, table: tuple[Rgb, ...]) -> None:
    for place in (0, 1):
        for info, frame in LANES:
            look = Look(palette)
            parts = [part for part in parts_of(frame, info, place, look) if part.percent]
            for one, other in pairwise(parts):
                seen = [colour(palette, part.ink.fg, table) for part in (one, other)]
                shaped = not palette.wells and one.glyph != other.glyph
                assert shaped or apart(*seen) > EASY, (palette.name, one.label, other.label)
            assert len({part.glyph for part in parts}) == len(parts), "and named with shapes of their own"


def test_without_many_colours_the_bar_is_drawn_in_those_shapes() -> None:
    for name in ("16-dark", "16-light", "none"):
        canvas = draw_card(scene(), 0, Form.SMALL, Look(PALETTES[name]))
        row = "".join(text for text, _ in canvas.lines()[14]).strip()
        assert set(row) == {"█", "▒", "░", "╱"}
    canvas = draw_card(scene(), 0, Form.SMALL, Look(PALETTES["dark"]))
    assert set("".join(text for text, _ in canvas.lines()[14]).strip()) == {"━"}


@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("palette", PALETTES.values(), **NAMED)
def test_every_state_of_a_cell_has_a_shape_of_its_own(palette: Palette, ascii: bool) -> None:
    look = Look(palette, ascii=ascii)
    kinds = [kind for kind in Kind if kind not in (Kind.STORED, Kind.PART, Kind.SHARED, Kind.VOID)]
    shapes = {kind: glyph(code(kind), look) for kind in kinds}
    for one, other in combinations(kinds, 2):
        (a, first), (b, second) = shapes[one], shapes[other]
        if a == b:  # a blank: then the ground it stands on
            assert palette.wells, (one, other)
            assert apart(*(colour(palette, ink.bg, TABLES["xterm"]) for ink in (first, second))) > 2, (
                one,
                other,
            )


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("palette", [PALETTES["16-dark"], PALETTES["16-light"]], **NAMED)
def test_sixteen_colours(palette: Palette, table: tuple[Rgb, ...]) -> None:
    hues = [colour(palette, f"h{at}", table) for at in range(HUES)]
    cycle = [*hues, hues[0]]
    assert min(apart(a, b) for a, b in pairwise(cycle)) > 12, "requests that come one after the other"
    ground = colour(palette, "bg", table)
    named = ("t1", "t2", "t3", "rule", "hole", "base", "acc", "warn", "bad", "hot")
    for role in (*named, *(f"h{at}" for at in range(HUES))):
        assert apart(colour(palette, role, table), ground) > FAINT, f"{role} can be seen"


def test_marks_of_time_are_told_by_shape_in_crowds_too() -> None:
    glyphs = [mark for mark, _ in MARKS.values()]
    track = ["━", "─", "●", "═"]
    assert len({*glyphs, *track}) == len(glyphs) + len(track)
    assert len({in_ascii(mark) for mark in ("═", "━", "─", "●")}) == 4
    crowd = tuple(type(scene().marks[0])(10 + at / 10, "preempted") for at in range(200))
    line = timeline_line(scene(marks=crowd), width=120, margin=2)
    assert any("═" in text for text, _ in line)


def test_lanes_have_names_and_places_where_their_colours_are_alike() -> None:
    for form in Form:
        canvas: Canvas = draw_card(scene(), 1, form, Look(PALETTES["16-dark"]))
        assert "Paged" in "".join(text for text, _ in canvas.lines()[0])
