"""Roles of colour as Rich styles, one cached style for each ink and palette."""

from __future__ import annotations

from functools import cache

from rich.color import Color
from rich.style import Style

from kvtui.tui.view.ink import Ink
from kvtui.tui.view.palette import Palette

_LOUD = {"t1", "hot"}
_QUIET = {"t3", "rule", "hole", "ghost"}


@cache
def style_of(ink: Ink, palette: Palette) -> Style:
    """The style of an ink. Without colours weight has to do: pills are reversed, labels dim."""
    if not palette.colour:
        pill = ink.fg == "inv"
        bold = ink.bold or ink.fg in _LOUD
        dim = ink.fg in _QUIET and not bold
        return Style(
            bold=bold or None, dim=dim or None, reverse=pill or None, underline=ink.underline or None
        )
    return Style(
        color=_colour(palette, ink.fg),
        bgcolor=_colour(palette, ink.bg),
        bold=ink.bold or None,
        underline=ink.underline or None,
    )


def _colour(palette: Palette, role: str) -> Color:
    number = palette.roles[role]
    return Color.default() if number < 0 else Color.from_ansi(number)
