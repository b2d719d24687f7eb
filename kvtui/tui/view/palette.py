"""Palettes: every role as a number 16-255 of the 256-colour table, which terminals do not re-theme.

Terminals that have but sixteen colours get those: the numbers 0-15, whatever the terminal makes of them, on
its own background (-1). There free memory has no colour of its own and is drawn with a dot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kvtui.tui.view.words import ENGLISH

_ROLES: Final = (
    "bg well t1 t2 t3 rule base acc warn hot bad hole ghost ghost2 inv lane3 lane4"
    " h0 h1 h2 h3 h4 h5 h6 h7 d0 d1 d2 d3 d4 d5 d6 d7"
)

_DARK: Final = (
    "233 235 255 250 245 239 252 79 215 222 210 242 238 236 233 159 225"
    " 74 61 104 131 175 100 143 30 23 24 24 88 89 58 58 23"
)
_LIGHT: Final = (
    "231 254 232 237 241 250 236 29 130 94 124 246 249 252 231 25 90"
    " 23 104 131 61 100 30 58 169 73 111 174 111 143 73 143 176"
)
_HIGH_CONTRAST: Final = (
    "16 234 231 255 250 244 231 86 220 226 203 250 240 237 16 123 219"
    " 150 139 178 218 71 117 210 75 58 60 58 95 22 24 88 24"
)
_SIXTEEN_DARK: Final = (
    "-1 -1 15 7 7 8 15 10 11 11 9 7 8 8 0 14 13"
    " 12 9 14 13 2 5 6 3 4 1 6 5 2 5 6 3"
)  # fmt: skip
_SIXTEEN_LIGHT: Final = (
    "-1 -1 0 0 8 8 0 2 3 1 1 8 7 7 15 6 5"
    " 4 9 12 6 5 8 13 1 12 1 4 6 13 8 5 9"
)  # fmt: skip
_CUBE: Final = (0, 95, 135, 175, 215, 255)


def rgb(number: int) -> tuple[int, int, int]:
    """Red, green and blue (0-255) of a number 16-255 of the 256-colour table (xterm's values)."""
    assert 16 <= number <= 255, number
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return grey, grey, grey
    cube = number - 16
    return _CUBE[cube // 36], _CUBE[cube // 6 % 6], _CUBE[cube % 6]


@dataclass(frozen=True, eq=False)
class Palette:
    """Colour numbers by role; `colour` is False where a terminal is asked to show no colours, `wells` where
    free memory has no background of its own."""

    name: str
    numbers: str = ""
    dark: bool = True
    colour: bool = True
    wells: bool = True

    @property
    def bits(self) -> int:
        """Of a colour, as far as the palette needs them: 0, 4 or 8."""
        return 0 if not self.colour else 8 if self.wells else 4

    @cached_property
    def roles(self) -> dict[str, int]:
        return dict(zip(_ROLES.split(), map(int, self.numbers.split()), strict=True)) if self.colour else {}

    def hex(self, role: str) -> str:
        return "#{:02x}{:02x}{:02x}".format(*rgb(self.roles[role]))


PALETTES: Final = {
    "dark": Palette("dark", _DARK),
    "light": Palette("light", _LIGHT, dark=False),
    "high-contrast": Palette("high-contrast", _HIGH_CONTRAST),
    "16-dark": Palette("16-dark", _SIXTEEN_DARK, wells=False),
    "16-light": Palette("16-light", _SIXTEEN_LIGHT, dark=False, wells=False),
    "none": Palette("none", colour=False, wells=False),
}
THEMES: Final = ("dark", "light", "high-contrast")


def palette_name(theme: str, bits: int) -> str:
    """Which palette shows a theme on a terminal with colours of so many bits."""
    if not bits:
        return "none"
    if bits >= 8:
        return theme
    return "16-light" if theme == "light" else "16-dark"


@dataclass(frozen=True, eq=False)
class Look:
    """How a terminal is to be drawn on: which palette, whether only ASCII may be used, which language."""

    palette: Palette = PALETTES["dark"]
    ascii: bool = False
    language: str = ENGLISH
