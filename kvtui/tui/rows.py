"""A widget of ready-made rows; only the cells that changed are sent to the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.segment import Segment
from textual.strip import Strip

from kvtui.tui.inks import style_of
from kvtui.tui.outlet import Stretch
from kvtui.tui.painted import Painted
from kvtui.tui.view.canvas import Line, line_width
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
    """The stretch of row `y` outside of which two lines are equal; lines with wide characters count whole."""
    old, new = _spread(before), _spread(after)
    if len(old) != len(new) or len(new) != line_width(after) or len(old) != line_width(before):
        return Stretch(y, 0, max(line_width(before), line_width(after)))
    changed = [at for at, (was, becomes) in enumerate(zip(old, new, strict=True)) if was != becomes]
    return Stretch(y, changed[0], changed[-1] + 1) if changed else Stretch(y, 0, 1)


def _spread(line: Line) -> list[tuple[str, Ink]]:
    return [(char, ink) for text, ink in line for char in text]
