"""A widget of ready-made rows; only the cells that changed are sent to the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.filter import LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from kvtui.tui.inks import style_of
from kvtui.tui.view.canvas import Line, line_width
from kvtui.tui.view.glyphs import TO_ASCII
from kvtui.tui.view.ink import T2, Ink
from kvtui.tui.view.palette import Look


class Rows(Widget):
    """Shows lines of text. Rows that were not given are blank."""

    ALLOW_SELECT = False

    def __init__(self, look: Look, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._look = look
        self._lines: tuple[Line, ...] = ()
        self._strips: dict[int, Strip] = {}

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Replace what is shown; rows that stay as they are cost nothing."""
        new, old = tuple(lines), self._lines
        self._lines = new
        for y in range(max(len(new), len(old))):
            after = new[y] if y < len(new) else ()
            before = old[y] if y < len(old) else ()
            if after != before:
                self._strips.pop(y, None)
                self.refresh(_difference(before, after, y, self.size.width or 1))

    def set_look(self, look: Look) -> None:
        """Draw in other colours from now on."""
        self._look = look
        self._strips.clear()
        self.refresh()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return []

    def render_lines(self, crop: Region) -> list[Strip]:
        return [self._strip(y).crop(crop.x, crop.right) for y in crop.line_range]

    def _strip(self, y: int) -> Strip:
        width = self.size.width
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != width:
            line = self._lines[y] if y < len(self._lines) else ()
            palette, plain = self._look.palette, self._look.ascii
            segments = [
                Segment(text.translate(TO_ASCII) if plain else text, style_of(ink, palette))
                for text, ink in line
            ]
            strip = Strip(segments).adjust_cell_length(width, style_of(T2, palette))
            self._strips[y] = strip
        return strip


def _difference(before: Line, after: Line, y: int, width: int) -> Region:
    """The stretch of row `y` outside of which two lines are equal; lines with wide characters count whole."""
    old, new = _spread(before), _spread(after)
    if len(old) != len(new) or len(new) != line_width(after) or len(old) != line_width(before):
        return Region(0, y, width, 1)
    changed = [at for at, (was, becomes) in enumerate(zip(old, new, strict=True)) if was != becomes]
    return Region(changed[0], y, changed[-1] + 1 - changed[0], 1) if changed else Region(0, y, 1, 1)


def _spread(line: Line) -> list[tuple[str, Ink]]:
    return [(char, ink) for text, ink in line for char in text]
