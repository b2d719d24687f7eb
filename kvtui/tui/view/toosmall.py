"""The one message of a terminal without room."""

from __future__ import annotations

from kvtui.tui.view.canvas import Canvas, Line, cut
from kvtui.tui.view.ink import BOLD, T2
from kvtui.tui.view.layout import MIN_HEIGHT, MIN_WIDTH


def too_small(width: int, height: int, lanes: int) -> list[Line]:
    """What is needed and what there is, in the middle of it."""
    tall = max(MIN_HEIGHT, 6 * lanes + 4)
    text = [
        (f"kvtui needs {MIN_WIDTH} x {tall} cells" + (", or 80 x 24." if tall > 24 else "."), BOLD),
        (f"This window has {width} x {height}.", T2),
        ("Make it larger, or q to leave.", T2),
    ]
    canvas = Canvas(max(1, width), max(1, height))
    top = max(0, (height - len(text)) // 2)
    for row, (words, ink) in enumerate(text):
        canvas.put(max(0, (width - len(words)) // 2), top + row, cut(words, width), ink)
    return list(canvas.lines())
