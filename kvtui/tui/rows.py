"""A widget of ready-made rows; only the cells that changed are sent to the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rich.segment import Segment
from textual.strip import Strip

from kvtui.tui.inks import style_of
from kvtui.tui.outlet import Stretch
from kvtui.tui.painted import Painted
from kvtui.tui.view.canvas import Line, char_width, line_width, text_width
from kvtui.tui.view.glyphs import in_ascii
from kvtui.tui.view.ink import Ink
from kvtui.tui.view.palette import Look


class Rows(Painted):
    """Shows lines of text. Rows that were not given are blank."""

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self._lines: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is shown."""
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Replace what is shown; rows that stay as they are cost nothing."""
        before, self._lines = self._lines, tuple(lines)
        if before != self._lines:
            self.repaint(_differences(before, self._lines))

    def build(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else ()
        return Strip([self._segment(text, ink) for text, ink in line], line_width(line))

    def _segment(self, text: str, ink: Ink) -> Segment:
        plain = in_ascii(text) if self.look.ascii else text
        return Segment(plain, style_of(ink, self.look.palette))


def _differences(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Stretch]:
    for y in range(max(len(before), len(after))):
        old = before[y] if y < len(before) else ()
        new = after[y] if y < len(after) else ()
        if old != new:
            yield _difference(old, new, y)


def _difference(before: Line, after: Line, y: int) -> Stretch:
    """The stretch of row `y` outside of which two lines are equal."""
    widths = line_width(before), line_width(after)
    start = _alike(before, after, ends=False)
    if widths[0] != widths[1]:
        return Stretch(y, start, max(widths))
    return Stretch(y, start, max(start + 1, widths[0] - _alike(before, after, ends=True)))


def _alike(before: Line, after: Line, *, ends: bool) -> int:
    """Cells for which the beginnings or the ends of two lines are equal."""
    way = -1 if ends else 1
    width = 0
    for (old, was), (new, becomes) in zip(before[::way], after[::way], strict=False):
        if was != becomes:
            break
        if old != new:
            pairs = zip(old[::way], new[::way], strict=False)
            return width + sum(
                char_width(char) for char, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)
            )
        width += text_width(new)
    return width
