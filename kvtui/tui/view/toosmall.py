"""The one message of a terminal without room."""

from __future__ import annotations

from kvtui.tui.view.canvas import Canvas, Line, cut, text_width
from kvtui.tui.view.ink import BOLD, T2
from kvtui.tui.view.layout import MIN_HEIGHT, MIN_WIDTH
from kvtui.tui.view.words import ENGLISH, word

_NEEDS = "kvtui needs {} x {} cells."
_NEEDS_OR = "kvtui needs {} x {} cells, or 80 x 24."
_HAS = "This window has {} x {}."
_DO = "Make it larger, or q to leave."


def too_small(width: int, height: int, lanes: int, language: str = ENGLISH) -> list[Line]:
    """What is needed and what there is, in the middle of it."""
    tall = max(MIN_HEIGHT, 6 * lanes + 4)
    text = [
        (word(_NEEDS_OR if tall > 24 else _NEEDS, language).format(MIN_WIDTH, tall), BOLD),
        (word(_HAS, language).format(width, height), T2),
        (word(_DO, language), T2),
    ]
    canvas = Canvas(max(1, width), max(1, height))
    top = max(0, (height - len(text)) // 2)
    for row, (words, ink) in enumerate(text):
        canvas.put(max(0, (width - text_width(words)) // 2), top + row, cut(words, width), ink)
    return list(canvas.lines())
