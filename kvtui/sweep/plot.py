"""A scatter plot as SVG text, drawn for a page that has its style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 74, 20, 18, 52


class Point(NamedTuple):
    """One cell: where it stands, what it says when pointed at."""

    x: float
    y: float
    kind: str  # class of the style: best, front or other
    text: str


def scatter(points: Sequence[Point], *, x: str, y: str) -> str:
    """Axes start at 0."""
    if not points:
        return ""
    right = _rounded(max(p.x for p in points))
    top = _rounded(max(p.y for p in points))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y)} against {escape(x)}">',
        *_grid(right, top),
        f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x)}</text>",
        f'<text class="axis" transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(y)}</text>',
    ]
    front = sorted((p for p in points if p.kind != "other"), key=lambda p: p.x)
    line = " ".join(f"{_x(p.x, right):.1f},{_y(p.y, top):.1f}" for p in front)
    parts.append(f'<polyline class="front" points="{line}"/>')
    for p in sorted(points, key=lambda p: ("other", "front", "best").index(p.kind)):
        parts += [
            f'<g class="{p.kind}"><title>{escape(p.text)}</title>',
            f'<circle cx="{_x(p.x, right):.1f}" cy="{_y(p.y, top):.1f}" '
            f'r="{7 if p.kind == "best" else 5}"/></g>',
        ]
    return "".join([*parts, "</svg>"])


def _grid(right: float, top: float) -> list[str]:
    parts = []
    for i in range(5):
        x, y = right * i / 4, top * i / 4
        px, py = _x(x, right), _y(y, top)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py:.1f}" y2="{py:.1f}"/>',
            f'<text class="tick" x="{LEFT - 8}" y="{py + 4:.1f}" text-anchor="end">{y:,.3g}</text>',
            f'<text class="tick" x="{px:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
            f"{x:,.3g}</text>",
        ]
    return parts


def _x(value: float, right: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / right


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def _rounded(value: float) -> float:
    """The next of 1, 2, 4, 8 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(power * n for n in (1, 2, 4, 8, 10) if power * n >= value)
