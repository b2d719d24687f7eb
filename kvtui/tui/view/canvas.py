"""A small sheet of character cells to draw on, and the lines that come out of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby
from typing import NamedTuple, TypeAlias

from kvtui.tui.view.ink import T2, Ink

Line: TypeAlias = tuple[tuple[str, Ink], ...]
_TEXTS = 4096  # of which the width is remembered: the same ones come again and again
_CLOSING = "、。，．）」！？：ーッャュョァィゥェォっゃゅょ々"  # never at the start of a line


class Rect(NamedTuple):
    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height


@cache
def char_width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1


def text_width(text: str) -> int:
    """Cells that a text takes in a terminal."""
    return len(text) if text.isascii() else _width(text)


@lru_cache(_TEXTS)
def _width(text: str) -> int:
    return sum(map(char_width, text))


def cut(text: str, width: int) -> str:
    """The text, shortened at a word to fit `width` cells; a first word that is too long is cut itself."""
    if text_width(text) <= width:
        return text
    kept = _head(text, width - 1)  # room for a blank before the dots
    if " " in kept:
        return kept[: kept.rfind(" ")].rstrip(" ,:·") + " …"
    return _head(text, width - 1) + "…" if width > 1 else ""


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken at words; a word that is too long is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(lines[-1]) + 1 + text_width(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(cut(word, width))
    return lines


def cut_wrap(text: str, width: int, rows: int) -> list[str]:
    """The text in at most `rows` lines; what is too long is cut at a word."""
    lines = wrap(text, width)
    return lines if len(lines) <= rows else [*lines[: rows - 1], cut(" ".join(lines[rows - 1 :]), width)]


def wrap_line(line: Line, width: int) -> list[Line]:
    """The same for a line of several inks. Wide characters may stand at the end of a line anywhere but
    before the marks that end a phrase."""
    lines: list[list[tuple[str, Ink]]] = [[]]
    used = 0
    for atom in _atoms(line):
        blank = atom[0][0] == " "
        length = sum(text_width(char) for char, _ in atom)
        if used and used + length > width:
            while lines[-1] and lines[-1][-1][0] == " ":
                lines[-1].pop()
            if not blank:
                lines.append([])
                used = 0
        elif blank and not used:
            continue
        if not blank or used + length <= width:
            lines[-1] += atom
            used += length
    return [_joined(chars) for chars in lines]


def _atoms(line: Line) -> Iterator[list[tuple[str, Ink]]]:
    """Words, blanks and wide characters, each of which stays whole."""
    atom: list[tuple[str, Ink]] = []
    for text, ink in line:
        for char in text:
            breaks = char == " " or char_width(char) == 2 or (atom and _alone(atom[-1][0]))
            closing = char in _CLOSING and atom and atom[-1][0] != " "
            if atom and breaks and not closing:
                yield atom
                atom = []
            atom.append((char, ink))
    if atom:
        yield atom


def _alone(char: str) -> bool:
    return char == " " or char_width(char) == 2


def _joined(chars: list[tuple[str, Ink]]) -> Line:
    runs: list[tuple[str, Ink]] = []
    for char, ink in chars:
        if runs and runs[-1][1] == ink:
            runs[-1] = runs[-1][0] + char, ink
        else:
            runs.append((char, ink))
    return tuple(runs)


def _head(text: str, width: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += char_width(char)
        if used > width:
            return text[:at]
    return text


class Canvas:
    """Cells of a character and an ink each. What is put outside is dropped."""

    def __init__(self, width: int, height: int, *, ink: Ink = T2) -> None:
        self.width = width
        self.height = height
        self._chars = [[" "] * width for _ in range(height)]
        self._inks = [[ink] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, ink: Ink = T2) -> int:
        """Write `text` from cell (x, y) on; gives the column behind it."""
        if text.isascii() or text_width(text) == len(text):
            return self._put_narrow(x, y, text, ink)
        for char in text:
            span = char_width(char)
            if x >= 0 and x + span <= self.width and 0 <= y < self.height and span:
                self._chars[y][x] = char
                self._inks[y][x] = ink
                if span == 2:
                    self._chars[y][x + 1] = ""
                    self._inks[y][x + 1] = ink
            x += span
        return x

    def _put_narrow(self, x: int, y: int, text: str, ink: Ink) -> int:
        """The same for a text of single cells, all of them at once."""
        end = x + len(text)
        first, last = max(0, x), min(end, self.width)
        if first < last and 0 <= y < self.height:
            self._chars[y][first:last] = text[first - x : last - x]
            self._inks[y][first:last] = [ink] * (last - first)
        return end

    def put_right(self, end: int, y: int, text: str, ink: Ink = T2) -> int:
        """Write `text` so that it ends before column `end`; gives the column where it starts."""
        start = end - text_width(text)
        self.put(start, y, text, ink)
        return start

    def put_line(self, x: int, y: int, line: Line) -> int:
        for text, ink in line:
            x = self.put(x, y, text, ink)
        return x

    def lines(self, area: Rect | None = None) -> tuple[Line, ...]:
        """The rows of `area` (all without it), equal inks run together."""
        x, y, width, height = area or Rect(0, 0, self.width, self.height)
        return tuple(self._line(row, x, x + width) for row in range(y, y + height))

    def _line(self, row: int, start: int, end: int) -> Line:
        chars, runs = self._chars[row], []
        for ink, cells in groupby(self._inks[row][start:end]):
            first, start = start, start + len([*cells])
            runs.append(("".join(chars[first:start]), ink))
        return tuple(runs)


def line_width(line: Line) -> int:
    return sum(text_width(text) for text, _ in line)


def plain(line: Line) -> str:
    return "".join(text for text, _ in line)
