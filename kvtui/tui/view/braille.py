"""Step lines in braille dots: two dots across and four down in a cell, several lines on one sheet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

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
        times = [time for time, _ in points]
        before: int | None = None
        for x in range(2 * self.width):
            at = bisect_right(times, end * x / (2 * self.width - 1))
            y = self._level(points[at - 1][1] if at else 0, top)
            if not dashed or _DASH[x % len(_DASH)]:
                join = range(min(y, before), max(y, before) + 1) if before is not None else range(y, y + 1)
                for row in join:
                    self.dot(x, row, line)
            before = y
        return (before or 0) // 4

    def _level(self, value: int, top: int) -> int:
        rows = 4 * self.height
        return rows - 1 - min(rows - 1, round(value * (rows - 1) / top))

    def runs(self, y: int) -> Iterator[tuple[int, str, int]]:
        """What is drawn in a row of cells: first column, characters and line of every stretch of one line."""
        x = 0
        for line, cells in groupby(self._line[y]):
            start, x = x, x + len([*cells])
            if line is not None:
                yield start, "".join(chr(_BLANK + bits) for bits in self._bits[y][start:x]), line
