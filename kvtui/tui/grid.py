"""The block grid as a widget: rows of cached segments, and exactly the changed cells sent to the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kvtui.tui.inks import style_of
from kvtui.tui.outlet import Stretch
from kvtui.tui.painted import Painted
from kvtui.tui.view.cells import Codes
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.palette import Look

_CELL_BYTES = 29  # of a cell of another colour than its neighbours, at most
_NEAR = 6  # changed cells nearer than this are sent together: moving the cursor costs as much
_PLAIN = "\x1b[0m"
_SPANS = 6  # a row with more stretches is sent as one


class BlockGrid(Painted):
    """Shows cell codes, one character each."""

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(look, id=id)
        self._codes: Codes = np.zeros((0, 0), np.uint16)
        self._waited = np.zeros(0, np.int64)  # frames for which a row has not been shown as it is
        self._drawn: dict[int, tuple[str, Style]] = {}
        self._segments: dict[tuple[str, int], Segment] = {}
        self._texts: dict[int, tuple[str, str]] = {}

    @property
    def codes(self) -> Codes:
        """What is shown."""
        return self._codes

    def show(self, codes: Codes, *, most: int | None = None) -> bool:
        """Replace what is shown; cells that stay as they are cost nothing. Where that would take more than
        about `most` bytes, some rows stay as they were: those that matter least, and none for ever. Gives
        whether all is shown.
        """
        before = self._codes
        if before.shape != codes.shape:
            self._codes = codes
            self._waited = np.zeros(len(codes), np.int64)
            self.repaint_all()
            return True
        changed = before != codes
        late = self._late_rows(changed.sum(1), most)
        if late is not None:
            codes = codes.copy()
            codes[late], changed[late] = before[late], False
        self._codes = codes
        rows, columns = np.nonzero(changed)
        self.repaint(_stretches(rows.tolist(), columns.tolist()))
        return late is None

    def _late_rows(self, changed: NDArray[np.int64], most: int | None) -> NDArray[np.int64] | None:
        """Rows to be sent later, None where all can be sent now; `changed` cells of each row."""
        if most is None or _CELL_BYTES * int(changed.sum()) <= most:
            self._waited[:] = 0
            return None
        order = np.argsort(-changed * (1 + self._waited**2), kind="stable")
        sent = max(1, int(np.searchsorted(np.cumsum(changed[order]) * _CELL_BYTES, most)))
        self._waited[order[:sent]] = 0
        late = order[sent:][changed[order[sent:]] > 0]
        self._waited[late] += 1
        return late if len(late) else None

    def set_look(self, look: Look) -> None:
        self._drawn.clear()
        self._segments.clear()
        self._texts.clear()
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

    def sent(self, stretch: Stretch, system: ColorSystem) -> str:
        """These cells as text: a style where another one begins, and none behind the last."""
        texts, sent, before = self._texts, [], ""
        for value in self._codes[stretch.y, stretch.start : stretch.end].tolist():
            style, char = texts.get(value) or self._text(value, system)
            if style != before:
                sent.append(style)
                before = style
            sent.append(char)
        return "".join(sent) + _PLAIN

    def _text(self, value: int, system: ColorSystem) -> tuple[str, str]:
        """What sets the style of a code, whatever it was before, and its character; worked out once."""
        char, style = self._drawn.get(value) or self._draw(value)
        ansi = Strip.render_ansi(style, system)
        self._texts[value] = (f"\x1b[0;{ansi}m" if ansi else _PLAIN), char
        return self._texts[value]

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


def _stretches(rows: list[int], columns: list[int]) -> Iterator[Stretch]:
    """Changed cells, in reading order, as few stretches."""
    for y, cells in groupby(zip(rows, columns, strict=True), key=itemgetter(0)):
        for start, end in spans([x for _, x in cells]):
            yield Stretch(y, start, end)


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
