"""A page that needs nothing but itself: the verdict, the batch over time, the figures, the requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from kvtui.answers.table import rows
from kvtui.exports.exhibit import Exhibit, LaneExhibit, RequestRow, request_rows

_COLOURS = ("#5f5f5f", "#00875f", "#005faf", "#875f87")
_WIDTH, _HEIGHT, _LEFT, _BELOW = 900, 260, 50, 24
_MOST = 2000  # requests of a lane in the page; the CSV has all that are known

_FONT = re.compile(r"@font-face\s*{[^}]*}")  # a picture may name one that would have to be fetched

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}
body{color:#222;background:#fff}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}.verdict{font-size:1.2em}.about{color:#666}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.15em .9em .15em 0;text-align:right}td:first-child,th:first-child{text-align:left}
tr:nth-child(even){background:#f5f5f5}svg{max-width:100%;height:auto}
details{margin:1em 0}summary{cursor:pointer}
"""


def as_html(exhibit: Exhibit) -> str:
    """The page; nothing in it is fetched from anywhere."""
    heading, report = exhibit.heading, exhibit.report
    about = [heading.trace, heading.model, f"{heading.gpu}, {heading.label}", f"at {exhibit.time_s:,.1f} s"]
    parts = [
        f"<h1>{escape(heading.trace)}</h1>",
        f"<p class=about>{escape(' · '.join(part for part in about if part))}</p>",
        f"<p class=verdict>{escape(str(report.get('verdict', '')))}</p>",
        f"<figure>{_FONT.sub('', exhibit.picture)}</figure>" if exhibit.picture else "",
        "<h2>Requests running at once</h2>",
        _chart(exhibit.lanes),
        "<h2>Figures</h2>",
        _figures(report),
        *(_requests(lane) for lane in exhibit.lanes),
    ]
    head = f"<meta charset=utf-8><title>{escape(heading.trace)} · kvtui</title><style>{_STYLE}</style>"
    return (
        "<!doctype html>\n<html lang=en><head>"
        + head
        + "</head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _chart(lanes: Sequence[LaneExhibit]) -> str:
    """Step lines of all lanes on one axis from 0."""
    end = max((lane.frame.time_s for lane in lanes), default=0.0) or 1.0
    top = max((value for lane in lanes for _, value in lane.frame.batch), default=0) or 1
    bottom = _HEIGHT - _BELOW

    def x(time_s: float) -> float:
        return _LEFT + time_s / end * (_WIDTH - _LEFT - 10)

    def y(value: float) -> float:
        return bottom - value / top * (bottom - 30)

    drawn = [
        f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#ddd"/>'
        f'<text x="{_LEFT - 8}" y="{y(v) + 5:.1f}" text-anchor="end">{v}</text>'
        for v in (0, top)
    ]
    for at, lane in enumerate(lanes):
        colour = _COLOURS[at % len(_COLOURS)]
        points = _corners(lane.frame.batch)
        path = " ".join(f"{x(time_s):.1f},{y(value):.1f}" for time_s, value in points)
        dash = ' stroke-dasharray="6 3"' if at == 0 and len(lanes) > 1 else ""
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        name = f"{lane.info.title}: {lane.frame.counters.running}"
        drawn.append(f'<text x="{_LEFT + 170 * at}" y="16" fill="{colour}">{escape(name)}</text>')
    drawn.append(f'<text x="{_WIDTH - 10}" y="{_HEIGHT - 6}" text-anchor="end">{end:,.1f} s</text>')
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="14" role="img">{"".join(drawn)}</svg>'


def _corners(batch: Sequence[tuple[float, int]]) -> Iterable[tuple[float, int]]:
    before: int | None = None
    for time_s, value in batch:
        if before is not None:
            yield time_s, before
        yield time_s, value
        before = value


def _figures(report: Any) -> str:
    lanes = report["lanes"]
    told = [(row[0] or "", *(row[1](lane) for lane in lanes)) for row in rows(report) if row is not None]
    return _table(("", *(lane["name"] for lane in lanes)), told)


def _requests(lane: LaneExhibit) -> str:
    known_rows = request_rows(lane)
    every = len(known_rows)
    cut = f", the first {_MOST:,} of {every:,}" if every > _MOST else f", {every:,}"
    known = f" still known; the first {lane.forgotten:,} events are not" if lane.forgotten else ""
    title = f"<summary>Requests of {escape(lane.info.title)}{cut}{known}</summary>"
    names = [name.replace("_s", ", s").replace("_", " ") for name in RequestRow._fields]
    cells = ([_cell(value) for value in row] for row in known_rows[:_MOST])
    return f"<details>{title}{_table(names, cells)}</details>"


def _cell(value: object) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.3f}" if isinstance(value, float) else str(value)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"
