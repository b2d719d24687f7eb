"""The screen as an SVG that looks alike everywhere: what draws cells is drawn as rectangles, words are placed
cell by cell's width, and nothing is fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme

from kvtui.tui.view.canvas import char_width

WIDTH, HEIGHT = 10, 20  # of a cell
_FONT: Final = (
    "'DejaVu Sans Mono','Cascadia Mono','SF Mono',Menlo,Consolas,'Liberation Mono','Noto Sans Mono CJK JP',"
    "monospace"
)
_BASELINE = 15
_EIGHTH_X, _EIGHTH_Y = WIDTH / 8, HEIGHT / 8
Box = tuple[float, float, float, float]  # x, y, width, height in eighths of a cell

# Characters that fill a part of their cell, and with how much of the ink.
_BOXES: Final[dict[str, tuple[Box, ...]]] = {
    "▀": ((0, 0, 8, 4),),
    "▚": ((0, 0, 4, 4), (4, 4, 4, 4)),
    "─": ((0, 3.8, 8, 0.4),),
    "━": ((0, 3.4, 8, 1.2),),
    "═": ((0, 2.6, 8, 0.8), (0, 4.6, 8, 0.8)),
    **{chr(0x2580 + n): ((0, 8 - n, 8, n),) for n in range(1, 9)},  # from below
    **{chr(0x2590 - n): ((0, 0, n, 8),) for n in range(1, 9)},  # from the left
    **dict.fromkeys("░▒▓", ((0, 0, 8, 8),)),
}
_OPACITY: Final = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_DOTS: Final = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))  # of Braille, by bit


class _Cell(NamedTuple):
    """A character with the columns from which and up to which it stands."""

    x: int
    end: int
    char: str
    fore: str
    back: str
    bold: bool
    underline: bool

    @property
    def drawn(self) -> bool:
        return self.char in _BOXES or "\u2800" <= self.char <= "\u28ff"


def svg_of(rows: Sequence[Iterable[Segment]], theme: TerminalTheme, *, title: str) -> str:
    """The rows of a terminal as a picture; colours that a row leaves open are those of the theme."""
    cells = [[*_cells(row, theme)] for row in rows]
    width = WIDTH * max((row[-1].end for row in cells if row), default=0)
    height = HEIGHT * len(cells)
    ground = theme.background_color.hex
    drawn = "\n".join("".join(_row(y, row, ground)) for y, row in enumerate(cells))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="{_FONT}"'
        f' font-size="{WIDTH / 0.6:.2f}" xml:space="preserve">\n<title>{escape(title)}</title>\n'
        f'<rect width="{width}" height="{height}" fill="{ground}"/>\n{drawn}\n</svg>\n'
    )


def _cells(row: Iterable[Segment], theme: TerminalTheme) -> Iterator[_Cell]:
    x = 0
    for text, style, control in row:
        if control:
            continue
        look = _look(style or Style.null(), theme)
        for char in text:
            if width := char_width(char):
                yield _Cell(x, x + width, char, *look)
                x += width


def _look(style: Style, theme: TerminalTheme) -> tuple[str, str, bool, bool]:
    fore = _hex(style.color, theme, theme.foreground_color.hex, foreground=True)
    back = _hex(style.bgcolor, theme, theme.background_color.hex, foreground=False)
    if style.reverse:
        fore, back = back, fore
    return fore, back, bool(style.bold), bool(style.underline)


def _hex(colour: Color | None, theme: TerminalTheme, default: str, *, foreground: bool) -> str:
    if colour is None or colour.is_default:
        return default
    return colour.get_truecolor(theme, foreground=foreground).hex


def _row(y: int, row: Sequence[_Cell], ground: str) -> Iterator[str]:
    """Backgrounds first, then what is drawn, then words."""
    top = y * HEIGHT
    for back, run in groupby(row, key=lambda cell: cell.back):
        if back != ground:
            cells = [*run]
            yield _rect(cells[0].x, cells[-1].end, top, (0, 0, 8, 8), back)
    for _, run in groupby(row, key=lambda cell: (cell.char, cell.fore, cell.drawn)):
        cells = [*run]
        if cells[0].drawn:
            yield from _drawn(cells, top)
    for word in _words(row):
        yield _word(word, top)


def _drawn(cells: Sequence[_Cell], top: int) -> Iterator[str]:
    """Equal characters beside each other; those that fill their cell from side to side run together."""
    char, fore = cells[0].char, cells[0].fore
    boxes = _BOXES.get(char) or _braille(char)
    opacity = _OPACITY.get(char, 1.0)
    if all(box[2] == 8 for box in boxes):
        cells = [cells[0]._replace(end=cells[-1].end)]
    for cell in cells:
        for box in boxes:
            yield _rect(cell.x, cell.end, top, box, fore, opacity)


def _braille(char: str) -> tuple[Box, ...]:
    bits = ord(char) - 0x2800
    return tuple((1.5 + 4 * x, 0.6 + 2 * y, 1.4, 0.7) for at, (x, y) in enumerate(_DOTS) if bits >> at & 1)


def _rect(x: int, end: int, top: int, box: Box, fill: str, opacity: float = 1.0) -> str:
    left, upper, wide, high = box
    width = (end - x) * WIDTH if wide == 8 else wide * _EIGHTH_X
    see_through = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    return (
        f'<rect x="{x * WIDTH + left * _EIGHTH_X:g}" y="{top + upper * _EIGHTH_Y:g}" width="{width:g}"'
        f' height="{high * _EIGHTH_Y:g}" fill="{fill}"{see_through} shape-rendering="crispEdges"/>'
    )


def _words(row: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    """Characters of one look beside each other, without the blanks."""

    def kind(cell: _Cell) -> tuple[object, ...]:
        blank = cell.char == " " and not cell.underline
        return blank or cell.drawn, cell.fore, cell.bold, cell.underline

    for (left_out, *_), run in groupby(row, key=kind):
        if not left_out:
            yield [*run]


def _word(cells: Sequence[_Cell], top: int) -> str:
    """As wide as its cells, whatever font there is."""
    text, first = "".join(cell.char for cell in cells), cells[0]
    bold = ' font-weight="bold"' if first.bold else ""
    underline = ' text-decoration="underline"' if first.underline else ""
    return (
        f'<text x="{first.x * WIDTH}" y="{top + _BASELINE}" textLength="{cell_len(text) * WIDTH}"'
        f' lengthAdjust="spacingAndGlyphs" fill="{first.fore}"{bold}{underline}>{escape(text)}</text>'
    )
