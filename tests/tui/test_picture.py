"""The picture of the screen: cells where the terminal has them, and nothing from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual._ansi_theme import MONOKAI

from kvtui.tui.picture import HEIGHT, WIDTH, svg_of
from tests.tui.stagecraft import small, stand_at, still

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*segments: Segment) -> list[ElementTree.Element]:
    """What stands in a picture of one row, without title and ground."""
    return [*ElementTree.fromstring(svg_of([segments], MONOKAI, title="row"))][2:]


def box(element: ElementTree.Element) -> tuple[float, ...]:
    return tuple(float(element.attrib[name]) for name in ("x", "y", "width", "height"))


def test_block_characters_fill_the_part_of_their_cells_that_they_stand_for() -> None:
    mint = Style(color=Color.from_ansi(79))
    full, eighth, half = drawn(Segment("██", mint), Segment("▎"), Segment("▄"))
    assert box(full) == (0, 0, 2 * WIDTH, HEIGHT)
    assert full.attrib["fill"] == "#5fd7af"
    assert box(eighth) == (2 * WIDTH, 0, WIDTH / 4, HEIGHT)
    assert box(half) == (3 * WIDTH, HEIGHT / 2, WIDTH, HEIGHT / 2)
    assert len(drawn(Segment("⣀"))) == 2, "a dot each"


def test_words_are_as_wide_as_their_cells_whatever_the_font() -> None:
    words = drawn(Segment("ab <c>"), Segment("待ち"))
    assert [word.text for word in words] == ["ab", "<c>待ち"]
    assert [word.attrib["x"] for word in words] == ["0", str(3 * WIDTH)]
    assert words[1].attrib["textLength"] == str(7 * WIDTH)


def test_reversed_and_open_colours() -> None:
    pill = Style(reverse=True, bold=True)
    ground, word = drawn(Segment("x", pill))
    assert ground.attrib["fill"] == MONOKAI.foreground_color.hex
    assert (word.attrib["fill"], word.attrib["font-weight"]) == (MONOKAI.background_color.hex, "bold")


async def test_the_picture_of_the_screen_is_whole_and_needs_no_network() -> None:
    app = still(small())
    async with app.run_test(size=(80, 24)):
        stand_at(app, 1.0)
        svg = app.export_screenshot(title="kvtui")
    root = ElementTree.fromstring(svg)
    assert root.attrib["viewBox"] == f"0 0 {80 * WIDTH} {24 * HEIGHT}"
    assert "Contiguous" in [element.text for element in root.iter(f"{SVG}text")]
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
