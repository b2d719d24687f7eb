"""Makes Textual send a changed stretch of a row and not all that stands left of it in the widget.

Textual 8.2 marks stretches of cells as changed, but its encoder of partial updates starts each at the left
edge of the widget (textual#5625). Here a stretch is cut at both ends. Applied only to the version range that
was tested and only where the class looks as expected; otherwise, or with KVTUI_NO_SPAN_FIX set, whole
stretches from the left edge are sent, which is right and only longer.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from functools import cache

import textual
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual import _compositor
from textual.strip import Strip

_TESTED = "8.2."
_FIELDS = ("chops", "spans", "chop_ends")


@cache
def usable() -> bool:
    """Whether what Textual keeps for itself may be relied on."""
    return textual.__version__.startswith(_TESTED) and not os.environ.get("KVTUI_NO_SPAN_FIX")


def apply() -> bool:
    """Replace the encoder; gives whether it could be done."""
    update = getattr(_compositor, "ChopsUpdate", None)
    if update is None or not usable():
        return False
    fields = [name for name in inspect.signature(update.__init__).parameters if name != "self"]
    if fields != list(_FIELDS) or not hasattr(update, "render_segments"):
        return False
    update.render_segments = _render_segments
    return True


def _render_segments(self: _compositor.ChopsUpdate, console: Console) -> str:
    """The update as text for the terminal, every stretch cut to the cells that changed."""
    system = console._color_system or ColorSystem.TRUECOLOR
    output: list[str] = []
    for y, x1, x2 in self.spans:
        for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
            if strip is None or x >= x2 or end <= x1:
                continue
            left, right = max(x, x1), min(end, x2)
            output.append(f"\x1b[{y + 1};{left + 1}H")
            output += part(strip, left - x, right - x, system)
    return "".join(output)


def part(strip: Strip, start: int, end: int, system: ColorSystem) -> Iterator[str]:
    """Cells `start` to `end` of a strip as text; Textual itself cuts between wide characters."""
    if strip.cell_length != len(strip.text):
        strip = strip.crop(start, end)
        start, end = 0, strip.cell_length
    at = 0
    for segment in strip:
        first, last = max(start - at, 0), end - at
        at += len(segment.text)
        if last <= 0:
            return
        if text := segment.text[first:last]:
            yield Strip.render_style(segment.style or Style.null(), text, system)
