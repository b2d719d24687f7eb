"""The hero digits: seven segments drawn in half blocks, in a few sizes; `1` is drawn apart."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

_SEGMENTS = {  # top, upper left, upper right, middle, lower left, lower right, bottom
    "0": "abcefg",
    "2": "acdeg",
    "3": "acdfg",
    "4": "bcdf",
    "5": "abdfg",
    "6": "abdefg",
    "7": "acf",
    "8": "abcdefg",
    "9": "abcdfg",
}
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_ASCII = {
    "0": (" _ ", "| |", "|_|"),
    "1": ("   ", "  |", "  |"),
    "2": (" _ ", " _|", "|_ "),
    "3": (" _ ", " _|", " _|"),
    "4": ("   ", "|_|", "  |"),
    "5": (" _ ", "|_ ", " _|"),
    "6": (" _ ", "|_ ", "|_|"),
    "7": (" _ ", "  |", "  |"),
    "8": (" _ ", "|_|", "|_|"),
    "9": (" _ ", "|_|", " _|"),
    ".": (" ", " ", "."),
    ",": (" ", " ", ","),
}


class Face(NamedTuple):
    """A size of digits: cells wide, half rows high, thickness of strokes, blank cells between digits."""

    width: int
    halves: int
    across: int  # thickness of upright strokes, cells
    along: int  # thickness of level strokes, half rows
    gap: int

    @property
    def rows(self) -> int:
        return (self.halves + 1) // 2


WIDE = Face(6, 10, 2, 2, 2)
NARROW = Face(4, 10, 1, 2, 1)
SMALL = Face(4, 5, 1, 1, 1)
THIN = Face(3, 10, 1, 2, 1)


def digits(text: str, face: Face, *, ascii: bool = False) -> tuple[str, ...]:
    """Rows of `text` (figures and a point) in that size; ASCII digits are always three rows high."""
    if ascii:
        return tuple(" ".join(_ASCII[char][row] for char in text) for row in range(3))
    drawn = [_digit(char, face) for char in text]
    gap = " " * face.gap
    return tuple(gap.join(digit[row] for digit in drawn) for row in range(face.rows))


def fit(text: str, width: int) -> Face:
    """The largest five-row size in which `text` is at most `width` cells wide."""
    for face in (WIDE, NARROW):
        if len(digits(text, face)[0]) <= width:
            return face
    return THIN


@cache
def _digit(char: str, face: Face) -> tuple[str, ...]:
    bits = _one(face) if char == "1" else _point(face) if char in ".," else _segments(char, face)
    rows = []
    for top in range(0, face.halves, 2):
        low = bits[top + 1] if top + 1 < face.halves else [False] * len(bits[top])
        rows.append("".join(_HALVES[pair] for pair in zip(bits[top], low, strict=True)))
    return tuple(rows)


def _segments(char: str, face: Face) -> list[list[bool]]:
    lit = {name: name in _SEGMENTS[char] for name in "abcdefg"}
    middle = (face.halves - face.along) // 2
    rows = []
    for y in range(face.halves):
        upper, lower = y < middle + face.along, y >= middle
        left = (upper and lit["b"]) or (lower and lit["e"])
        right = (upper and lit["c"]) or (lower and lit["f"])
        level = (upper and lower and lit["d"]) or (y < face.along and lit["a"])
        level = level or (y >= face.halves - face.along and lit["g"])
        stroke, inner = face.across, face.width - 2 * face.across
        rows.append([level or left] * stroke + [level] * inner + [level or right] * stroke)
    return rows


def _one(face: Face) -> list[list[bool]]:
    """A stem in the middle, a flag and a foot: two bare segments would read as a bar or as a 7."""
    width = face.width if face.across > 1 else 3
    stem = range((width - face.across) // 2, (width - face.across) // 2 + face.across)
    rows = []
    for y in range(face.halves):
        flag = range(stem.start) if face.along <= y < 2 * face.along else range(0)
        foot = range(width) if y >= face.halves - face.along else range(0)
        rows.append([x in stem or x in flag or x in foot for x in range(width)])
    return rows


def _point(face: Face) -> list[list[bool]]:
    return [[y >= face.halves - face.along] * face.across for y in range(face.halves)]
