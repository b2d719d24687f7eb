"""The last row: which keys there are, and what each does now."""

from __future__ import annotations

from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.ink import BOLD, T3
from kvtui.tui.view.keys import Hint, fitting, in_language, length
from kvtui.tui.view.words import ENGLISH

Spot = tuple[int, int, str]  # first column, column behind, action


def footer_line(
    entries: list[Hint], *, width: int, margin: int, language: str = ENGLISH
) -> tuple[Line, list[Spot]]:
    """The row, and where a click means which action."""
    canvas = Canvas(width, 1)
    room = width - 2 * margin
    entries = [in_language(hint, language) for hint in entries]
    gap = 3 if length(entries, 3) <= room else 2
    x, spots = margin, []
    for hint in fitting(entries, room, gap=gap):
        start = x
        for part in hint.parts:
            spots.append((x, x + len(part.key), part.action))
            x += len(part.key) + 1
        x = canvas.put(start, 0, hint.key, BOLD)
        x = canvas.put(x + 1, 0, hint.word, T3)
        if hint.action:
            spots.append((start, x, hint.action))
        x += gap
    return canvas.lines()[0], spots
