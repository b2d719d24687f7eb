"""A scene of the tour, drawn: a grid with what matters lit, a line to its numbers, one figure, sentences."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.frames.frame import Frame
from kvtui.tui.view.canvas import Canvas, Line, cut, text_width, wrap_line
from kvtui.tui.view.cells import Codes, GridModel, Kind, code, hues, letters, parts
from kvtui.tui.view.digits import WIDE, digits
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.ink import BOLD, HOT, RULE, T1, T2, T3, WARN_BOLD, Ink
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scale import Scale
from kvtui.tui.view.words.tour import TourText

_ROOMY = 110, 34  # cells of a terminal with room for the tall grid and the large figure
_TALL, _LOW = 20, 10  # rows of the grid
_SHORT = 18  # rows below which nothing is left blank
_MORE = 12  # rows that a page can be longer than its room
_FIGURE = 34  # cells for the large figure and its words
_CURSOR = Ink("inv", "hot", bold=True)
_UNLIT = {Kind.STORED, Kind.PART, Kind.SHARED, Kind.LATER, Kind.NEVER, Kind.CACHED, Kind.HOLE}


@dataclass(frozen=True)
class Picture:
    """What a scene shows: all blocks alike while it runs, some of them lit once it is there."""

    frame: Frame
    width: int  # blocks a row
    rows: int
    block_size: int
    text: TourText
    place: tuple[int, int]  # number of the scene from 0, of how many
    pointed: bool = False
    lit: frozenset[int] = frozenset()
    at: int = 0
    figure: str = ""
    unit: str = ""
    swatches: tuple[Kind | None, ...] = ()


def rows_for(width: int, height: int) -> int:
    """Rows of the grid in a terminal of that size."""
    return _TALL if width >= _ROOMY[0] and height >= _ROOMY[1] else _LOW


def tour_lines(picture: Picture, look: Look, *, width: int, height: int) -> tuple[Line, ...]:
    """The page without header and footer, `width` cells and at least `height` rows: as many as it takes."""
    page = _Page(picture, look, Canvas(width, height + _MORE), height)
    rows = max(height, page.draw())
    return page.canvas.lines()[:rows]


class _Page:
    def __init__(self, picture: Picture, look: Look, canvas: Canvas, height: int) -> None:
        self.picture = picture
        self.look = look
        self.canvas = canvas
        self.roomy = picture.rows == _TALL
        self.x = 4 if self.roomy else 1
        self.top = 6 if self.roomy else 3 if height > _SHORT else 1
        self.right = canvas.width - self.x
        self.codes = _codes(picture, ascii=look.ascii)

    def draw(self) -> int:
        """Everything; gives the rows it takes."""
        self._title()
        self._grid()
        y = self.top + self.picture.rows
        if self.picture.pointed:
            self._notes()
            y = self._figure(y)
        y = self._words(self.picture.text.text, y + (2 if self.roomy else 0), T2)
        self._progress(y + 1 + self.roomy)
        return y + 2 + self.roomy

    def _title(self) -> None:
        place, scenes = self.picture.place
        y = 1 if self.roomy else 0
        x = self.canvas.put(self.x, y, f"{place + 1}/{scenes}", T3) + 2
        self.canvas.put(x, y, self.picture.text.title, BOLD)
        if self.top > 1:
            above = cut(self.picture.text.above, self.right - self.x)
            self.canvas.put(self.x, self.top - 1, above, T3)

    def _grid(self) -> None:
        picture = self.picture
        for y, row in enumerate(self.codes.tolist()):
            for x, value in enumerate(row):
                block = y * picture.width + x
                unlit = picture.pointed and block not in picture.lit
                char, ink = _ghost(value, self.look) if unlit else glyph(value, self.look)
                self.canvas.put(self.x + x, self.top + y, char, ink)

    def _notes(self) -> None:
        """The line from what is pointed at to what there is to say about it."""
        picture, notes = self.picture, self.picture.text.notes
        row, column = divmod(picture.at, picture.width)
        edge = self.x + picture.width
        x = edge + (5 if self.roomy else 3)
        room = self.right - x - (_FIGURE if self.roomy else 0)
        y = self.top + min(row, picture.rows - len(notes) - 1)
        if column < picture.width - 1:
            self.canvas.put(self.x + column, self.top + row, "┼", _CURSOR)
        self._leader(edge + 1, x - 1, self.top + row, y)
        meant = [parts(int(self.codes.flat[block])) for block in picture.lit]
        who = max(who for _, _, who in meant)
        sharing = max((amount for kind, amount, _ in meant if kind is Kind.SHARED), default=0)
        for at, note in enumerate(notes):
            swatch = picture.swatches[at] if at < len(picture.swatches) else None
            indent = 2 if at else 0
            if swatch is not None:
                self.canvas.put(x, y, *glyph(_sample(swatch, who, sharing), self.look))
            for line in wrap_line(((note, T1 if not at else T2),), room - indent):
                if y < self.top + picture.rows:
                    self.canvas.put_line(x + indent, y, line)
                y += 1

    def _leader(self, x: int, end: int, y: int, to: int) -> None:
        """A line from the grid to the notes, bent upwards where they begin higher."""
        self.canvas.put(x, to, "─" * (end - x), HOT)
        if to < y:
            self.canvas.put(x, to, "┌", HOT)
            self.canvas.put(x, y, "┘", HOT)
            for row in range(to + 1, y):
                self.canvas.put(x, row, "│", HOT)

    def _figure(self, y: int) -> int:
        """The large figure, or where there is no room for one its words in a row; gives the row behind."""
        picture = self.picture
        if not self.roomy:
            end = self.canvas.put(self.x, y, picture.figure + picture.unit + " ", WARN_BOLD)
            lines = wrap_line(((picture.text.figure, T1),), self.right - end)
            for line in lines:
                self.canvas.put_line(end, y, line)
                y += 1
            return y
        x, top = self.right - _FIGURE + 4, self.top
        rows = digits(picture.figure, WIDE, ascii=self.look.ascii)
        for at, row in enumerate(rows):
            self.canvas.put(x, top + at, row, WARN_BOLD)
        self.canvas.put(x + text_width(rows[0]) + 1, top, picture.unit, WARN_BOLD)
        for at, line in enumerate(wrap_line(((picture.text.figure, T2),), self.right - x)):
            self.canvas.put_line(x, top + len(rows) + 1 + at, line)
        return y

    def _words(self, text: str, y: int, ink: Ink) -> int:
        for line in wrap_line(((text, ink),), self.right - self.x):
            self.canvas.put_line(self.x, y, line)
            y += 1
        return y

    def _progress(self, y: int) -> None:
        place, scenes = self.picture.place
        for at in range(scenes):
            self.canvas.put(self.x + 5 * at, y, "━━━━", Ink("acc") if at <= place else RULE)


def _codes(picture: Picture, *, ascii: bool) -> Codes:
    scale = Scale(picture.width, picture.rows, picture.block_size)
    model = GridModel(block_size=picture.block_size, scale=scale, identity=letters if ascii else hues)
    return model.codes(picture.frame.cells, picture.frame.copied)


def _ghost(value: int, look: Look) -> tuple[str, Ink]:
    """A cell that is not meant: its shape without its colour; in ASCII a colon, as letters are requests."""
    char, ink = glyph(value, look)
    kind = parts(value)[0]
    if kind not in _UNLIT:
        return char, ink
    if look.ascii:
        return (":" if kind in (Kind.STORED, Kind.PART, Kind.SHARED) else char), Ink("ghost", "well")
    if kind is Kind.SHARED:
        char = "█"
    return char, Ink("ghost", "well" if kind is not Kind.PART else "ghost2")


def _sample(kind: Kind, who: int, sharing: int) -> int:
    """A cell such as the text speaks of, in the hue of whom it speaks of, or shared by so many."""
    amount = {Kind.STORED: 8, Kind.PART: 1, Kind.SHARED: sharing}.get(kind, 0)
    return code(kind, amount, 0 if kind in (Kind.SHARED, Kind.CACHED) else who)
