"""The block grid as a widget: rows of cached segments, and exactly the changed cells sent to the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.segment import Segment
from textual.filter import LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from kvtui.tui.inks import style_of
from kvtui.tui.view.cells import Codes
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.ink import T2
from kvtui.tui.view.palette import Look

_NEAR = 6  # changed cells nearer than this are sent together: moving the cursor costs as much
_SPANS = 6  # a row with more stretches is sent whole
_SHARE = 0.4  # and so is one of which more has changed


class BlockGrid(Widget):
    """Shows cell codes, one character each."""

    ALLOW_SELECT = False

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look = look
        self._codes: Codes = np.zeros((0, 0), np.uint16)
        self._strips: dict[int, Strip] = {}

    @property
    def codes(self) -> Codes:
        """What is shown."""
        return self._codes

    def show(self, codes: Codes) -> None:
        """Replace what is shown; cells that stay as they are cost nothing."""
        before, self._codes = self._codes, codes
        if before.shape != codes.shape:
            self._strips.clear()
            self.refresh()
            return
        changed = before != codes
        regions = []
        for y in np.flatnonzero(changed.any(1)).tolist():
            self._strips.pop(y, None)
            regions += [Region(x, y, end - x, 1) for x, end in spans(changed[y])]
        if regions:
            self.refresh(*regions)

    def set_look(self, look: Look) -> None:
        """Draw in other colours and shapes from now on."""
        self._look = look
        self._strips.clear()
        self.refresh()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return []

    def render_lines(self, crop: Region) -> list[Strip]:
        return [self._strip(y).crop(crop.x, crop.right) for y in crop.line_range]

    def _strip(self, y: int) -> Strip:
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != self.size.width:
            segments = list(self._segments(self._codes[y])) if y < len(self._codes) else []
            strip = Strip(segments).adjust_cell_length(self.size.width, style_of(T2, self._look.palette))
            self._strips[y] = strip
        return strip

    def _segments(self, row: np.ndarray) -> Iterator[Segment]:
        """Stretches of one ink."""
        text, ink = "", T2
        for value in row.tolist():
            char, its = glyph(value, self._look)
            if its is not ink and text:
                yield Segment(text, style_of(ink, self._look.palette))
                text = ""
            ink = its
            text += char
        if text:
            yield Segment(text, style_of(ink, self._look.palette))


def spans(changed: np.ndarray) -> list[tuple[int, int]]:
    """The stretches (first, behind) of a row to send for its changed cells: few, and none needlessly long."""
    at = np.flatnonzero(changed)
    if not len(at):
        return []
    breaks = np.flatnonzero(np.diff(at) > _NEAR)
    starts = at[np.concatenate(([0], breaks + 1))]
    ends = at[np.concatenate((breaks, [len(at) - 1]))] + 1
    if len(starts) > _SPANS or int((ends - starts).sum()) > _SHARE * len(changed):
        return [(int(starts[0]), int(ends[-1]))]
    return list(zip(starts.tolist(), ends.tolist(), strict=True))
