"""What a cell code looks like: a character and an ink. Every state has a shape of its own, colour or not."""

from __future__ import annotations

from functools import cache

from kvtui.tui.view.cells import MANY, Kind, parts
from kvtui.tui.view.ink import Ink
from kvtui.tui.view.palette import Look

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHAPES = {
    Kind.VOID: " ",
    Kind.FREE: " ",
    Kind.HOLE: "╱",
    Kind.CACHED: "▚",
    Kind.NEVER: "░",
    Kind.LATER: "▒",
    Kind.COPIED: "◆",
    Kind.OTHER: " ",
    Kind.CURSOR: "┼",
    Kind.TRACK: "│",
    Kind.THUMB: "┃",
}
_ASCII = {
    Kind.VOID: " ",
    Kind.FREE: ".",
    Kind.HOLE: "/",
    Kind.CACHED: "~",  # not a letter, as letters are requests
    Kind.NEVER: "-",
    Kind.LATER: "+",
    Kind.COPIED: "*",
    Kind.OTHER: ":",
    Kind.CURSOR: "@",
    Kind.TRACK: "|",
    Kind.THUMB: "#",
}
_INKS = {
    Kind.VOID: Ink("t3", "bg"),
    Kind.FREE: Ink("t3", "well"),
    Kind.HOLE: Ink("hole", "well"),
    Kind.CACHED: Ink("rule", "well"),
    Kind.COPIED: Ink("t1", "well"),
    Kind.SHARED: Ink("inv", "base"),
    Kind.OTHER: Ink("t3", "ghost"),
    Kind.CURSOR: Ink("inv", "hot", bold=True),
    Kind.TRACK: Ink("rule"),
    Kind.THUMB: Ink("t1"),
}

# Characters of the screen's own drawing, for terminals that are not to be sent anything but ASCII.
TO_ASCII = str.maketrans(
    {
        **{"·": "-", "–": "-", "─": "-", "━": "=", "═": "#", "▀": "=", "▄": "="},
        **{"±": "~", "≤": "<"},
        **{"→": ">", "←": "<", "↑": "^", "↓": "v", "▶": ">", "▸": ">"},
        **{"●": "O", "╋": "x", "╳": "X", "×": "x", "▍": " ", "↻": "*"},
        **{"┌": "+", "┘": "+", "┿": ":", "│": "|", "┼": "@", "┊": ":", "┳": "T", "▽": "v"},
        **{"█": "#", "▌": "a", "▒": "+", "░": "-", "╱": "/", "▚": "~", "◆": "*"},
        **dict.fromkeys("▏▎▋▊▉", "#"),
        "…": "~",  # within a word; after one there is room for the two dots of `in_ascii`
    }
)


def in_ascii(text: str) -> str:
    """The text in as many characters of ASCII."""
    return text.replace(" …", "..").translate(TO_ASCII)


@cache
def glyph(code: int, look: Look) -> tuple[str, Ink]:
    """The character and the ink of a cell code."""
    kind, amount, who = parts(code)
    if kind is Kind.SHARED:
        return ("+" if amount >= MANY else str(amount)), _INKS[kind]
    if kind in (Kind.STORED, Kind.PART):
        return _stored(kind, amount, who, look)
    if kind is Kind.FREE and not look.palette.wells and not look.ascii:
        return "·", _INKS[kind]  # without a well a blank would look like the end of the pool
    if kind is Kind.OTHER and not look.palette.colour and not look.ascii:
        return "┊", _INKS[kind]
    ink = _INKS.get(kind) or Ink(f"d{who % 8}", "well")
    return (_ASCII if look.ascii else _SHAPES)[kind], ink


def _stored(kind: Kind, eighths: int, who: int, look: Look) -> tuple[str, Ink]:
    if look.ascii:
        letter = chr(ord("A") + who)
        hue = f"h{who % 8}"
        return (letter, Ink(hue, "well", bold=True)) if eighths == 8 else (letter.lower(), Ink(hue, "well"))
    return _EIGHTHS[eighths], Ink(f"h{who}", "ghost" if kind is Kind.PART else "well")
