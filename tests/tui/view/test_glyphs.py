"""No state is told by hue alone: its shape differs too, in Unicode and in ASCII."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from kvtui.tui.view.canvas import char_width
from kvtui.tui.view.cells import MANY, Kind, code
from kvtui.tui.view.glyphs import TO_ASCII, glyph, in_ascii
from kvtui.tui.view.ink import Ink
from kvtui.tui.view.palette import PALETTES, Look

STATES = {
    "stored": code(Kind.STORED, 8, 2),
    "part": code(Kind.PART, 3, 2),
    "later": code(Kind.LATER, 0, 2),
    "never": code(Kind.NEVER, 0, 2),
    "hole": code(Kind.HOLE),
    "free": code(Kind.FREE),
    "shared": code(Kind.SHARED, 4),
    "cached": code(Kind.CACHED),
    "copied": code(Kind.COPIED),
}
LOOKS = {
    "dark": Look(),
    "ascii": Look(ascii=True),
    "no colour": Look(PALETTES["none"]),
    "ascii, no colour": Look(PALETTES["none"], ascii=True),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_every_state_has_a_shape_of_its_own(look: Look) -> None:
    shapes = {name: glyph(each, look)[0] for name, each in STATES.items()}
    assert all(a != b for a, b in combinations(shapes.values(), 2)), shapes


@pytest.mark.parametrize("name", ["ascii", "ascii, no colour"])
def test_ascii_is_ascii(name: str) -> None:
    assert all(glyph(each, LOOKS[name])[0].isascii() for each in STATES.values())


def test_the_readme_has_the_shapes_that_are_drawn() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    for name in ("later", "never", "hole", "cached"):
        shapes = [glyph(STATES[name], LOOKS[look])[0] for look in ("dark", "ascii")]
        assert "| `{}` | `{}` |".format(*shapes) in readme


def test_the_shapes() -> None:
    look = Look()
    assert [glyph(code(Kind.PART, eighth, 1), look)[0] for eighth in range(1, 8)] == list("▏▎▍▌▋▊▉")
    assert glyph(code(Kind.STORED, 8, 5), look) == ("█", Ink("h5", "well"))
    assert glyph(code(Kind.PART, 4, 5), look) == ("▌", Ink("h5", "ghost"))
    assert glyph(code(Kind.STORED, 4, 5), look) == ("▌", Ink("h5", "well"))
    assert glyph(code(Kind.LATER, 0, 5), look) == ("▒", Ink("d5", "well"))
    assert glyph(code(Kind.NEVER, 0, 5), look) == ("░", Ink("d5", "well"))
    assert [glyph(code(Kind.SHARED, count), look)[0] for count in (2, 9, MANY)] == ["2", "9", "+"]
    assert glyph(code(Kind.VOID), look) == (" ", Ink("t3", "bg"))
    assert glyph(code(Kind.FREE), look) == (" ", Ink("t3", "well"))


def test_ascii_tells_requests_apart_by_letter_and_full_cells_by_case() -> None:
    look = Look(ascii=True)
    assert glyph(code(Kind.STORED, 8, 25), look)[0] == "Z"
    assert glyph(code(Kind.PART, 7, 25), look)[0] == "z"
    assert glyph(code(Kind.STORED, 8, 0), look)[1].bold


def test_all_shapes_are_one_cell_wide() -> None:
    drawn = [glyph(each, look)[0] for each in STATES.values() for look in LOOKS.values()]
    assert all(len(shape) == 1 and char_width(shape) == 1 for shape in drawn)
    assert all(isinstance(to, str) and len(to) == 1 and to.isascii() for to in TO_ASCII.values())


def test_in_ascii_a_cut_text_does_not_look_like_the_end_of_a_sentence() -> None:
    assert in_ascii("waste less at the end of a …") == "waste less at the end of a.."
    assert in_ascii("C…pow2 ↻") == "C~pow2 *"
