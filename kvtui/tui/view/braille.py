"""Step lines in braille dots: two dots across and four down in a cell, several lines on one sheet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800
_DASH = (True, True, True, True, False, False)

Points = Sequence[tuple[float, int]]


class Dots:
    """A sheet of dots. A cell belongs to the last line that touched it, and keeps the dots of all."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._bits = [[0] * width for _ in range(height)]
        self._line: list[list[int | None]] = [[None] * width for _ in range(height)]

    def dot(self, x: int, y: int, line: int) -> None:
        """Set dot (x, y), counted from the top left, for `line`."""
        self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
        self._line[y // 4][x // 2] = line

    def steps(self, points: Points, line: int, *, end: float, top: int, dashed: bool) -> int:
        """Draw the step line of `points` (time, value) over 0..`end`, `top` being the highest value.

        Gives the row of cells in which the line ends.
        """
        before: int | None = None
        for x in range(2 * self.width):
            y = self._level(_value_at(points, end * x / (2 * self.width - 1)), top)
            if not dashed or _DASH[x % len(_DASH)]:
                join = range(min(y, before), max(y, before) + 1) if before is not None else range(y, y + 1)
                for row in join:
                    self.dot(x, row, line)
            before = y
        return (before or 0) // 4

    def _level(self, value: int, top: int) -> int:
        rows = 4 * self.height
        return rows - 1 - min(rows - 1, round(value * (rows - 1) / top))

    def cell(self, x: int, y: int) -> tuple[str, int] | None:
        """Character and line of a cell, None where nothing is drawn."""
        line = self._line[y][x]
        return None if line is None else (chr(_BLANK + self._bits[y][x]), line)


def _value_at(points: Points, time: float) -> int:
    at = bisect_right(points, time, key=lambda point: point[0])
    return points[at - 1][1] if at else 0
