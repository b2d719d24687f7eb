"""The block grid as a widget: rows of cached segments, and exactly the changed cells sent to the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from kvtui.tui.inks import style_of
from kvtui.tui.painted import Painted
from kvtui.tui.view.cells import Codes
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.palette import Look

_NEAR = 6  # changed cells nearer than this are sent together: moving the cursor costs as much
_SPANS = 6  # a row with more stretches is sent as one


class BlockGrid(Painted):
    """Shows cell codes, one character each."""

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self._codes: Codes = np.zeros((0, 0), np.uint16)
        self._drawn: dict[int, tuple[str, Style]] = {}
        self._segments: dict[tuple[str, int], Segment] = {}

    @property
    def codes(self) -> Codes:
        """What is shown."""
        return self._codes

    def show(self, codes: Codes) -> None:
        """Replace what is shown; cells that stay as they are cost nothing."""
        before, self._codes = self._codes, codes
        if before.shape != codes.shape:
            self.repaint_all()
            return
        rows, columns = np.nonzero(before != codes)
        self.repaint(_regions(rows.tolist(), columns.tolist()))

    def set_look(self, look: Look) -> None:
        self._drawn.clear()
        self._segments.clear()
        super().set_look(look)

    def build(self, y: int) -> Strip:
        row = self._codes[y].tolist() if y < len(self._codes) else []
        drawn, segments = self._drawn, []
        chars, before = "", None
        for value in row:  # stretches of one style
            char, style = drawn.get(value) or self._draw(value)
            if style is before:
                chars += char
                continue
            if chars:
                segments.append(self._segment(chars, before))
            chars, before = char, style
        if chars:
            segments.append(self._segment(chars, before))
        return Strip(segments, len(row))

    def _segment(self, chars: str, style: Style | None) -> Segment:
        """The same few segments come again and again: made once."""
        key = chars, id(style)
        segment = self._segments.get(key)
        if segment is None:
            segment = self._segments[key] = Segment(chars, style)
        return segment

    def _draw(self, value: int) -> tuple[str, Style]:
        """Character and style of a code, worked out once."""
        char, ink = glyph(value, self.look)
        self._drawn[value] = char, style_of(ink, self.look.palette)
        return self._drawn[value]


def _regions(rows: list[int], columns: list[int]) -> Iterator[Region]:
    """Changed cells, in reading order, as regions."""
    for y, cells in groupby(zip(rows, columns, strict=True), key=lambda cell: cell[0]):
        for start, end in spans([x for _, x in cells]):
            yield Region(start, y, end - start, 1)


def spans(changed: list[int]) -> list[tuple[int, int]]:
    """The stretches (first, behind) of a row to send for its changed columns: few, and none too long."""
    stretches = [[changed[0], changed[0] + 1]]
    for x in changed[1:]:
        if x - stretches[-1][1] >= _NEAR:
            stretches.append([x, x + 1])
        stretches[-1][1] = x + 1
    if len(stretches) > _SPANS:
        return [(changed[0], changed[-1] + 1)]
    return [(start, end) for start, end in stretches]
