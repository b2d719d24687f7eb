"""Roles of colour. A drawing says what a piece of text is for; the palette says what that looks like."""

from __future__ import annotations

from typing import NamedTuple

HUES = 8


class Ink(NamedTuple):
    """Foreground and background role, and weight. `h0`..`h7` are request hues, `d0`..`d7` their dim ones."""

    fg: str = "t2"
    bg: str = "bg"
    bold: bool = False
    underline: bool = False

    def on(self, bg: str) -> Ink:
        return self._replace(bg=bg)


T1 = Ink("t1")
T2 = Ink("t2")
T3 = Ink("t3")
RULE = Ink("rule")
BOLD = Ink("t1", bold=True)
WARN = Ink("warn")
WARN_BOLD = Ink("warn", bold=True)
BAD = Ink("bad")
HOT = Ink("hot", bold=True)
PILL = Ink("inv", "warn", bold=True)

LANES = ("base", "acc", "lane3", "lane4")


def lane_ink(lane: int, *, bold: bool = False) -> Ink:
    return Ink(LANES[lane % len(LANES)], bold=bold)


def hue_of(request: int) -> int:
    """Index of a request's hue. Shifted by one every eight requests, so that a trace whose requests repeat
    with a period of 2, 4 or 8 does not paint each kind in one colour; neighbours always differ."""
    return (request + request // HUES) % HUES


def hue_ink(request: int) -> Ink:
    return Ink(f"h{hue_of(request)}")
