"""What the trace browser shows of one trace: figures, arrivals over time, lengths, prefix reuse, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kvtui.traces.charts import Bar, arrivals, lengths
from kvtui.traces.leftout import rows as counted
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, wrap
from kvtui.tui.view.ink import BOLD, RULE, T1, T2, T3, WARN, lane_ink

_BARS = 9  # rows of a length chart
_TALL = 4  # rows of the arrival chart
_LEVELS = " ▁▂▃▄▅▆▇█"
_PLAIN = " .:-=+*##"
_SIDE_BY_SIDE = 64  # width from which the two length charts stand beside each other


class Window(NamedTuple):
    """A stretch of a trace, as shares of its span."""

    start: float = 0.0
    end: float = 1.0

    @property
    def whole(self) -> bool:
        return self == Window()

    def moved(self, by: float) -> Window:
        """Earlier or later by a share of its own length, inside the trace."""
        length = self.end - self.start
        start = min(max(self.start + by * length, 0.0), 1.0 - length)
        return Window(start, start + length)

    def scaled(self, factor: float) -> Window:
        """Longer or shorter around its middle."""
        length = min(max((self.end - self.start) * factor, 1 / 1024), 1.0)
        start = min(max((self.start + self.end - length) / 2, 0.0), 1.0 - length)
        return Window(start, start + length)

    def around(self, share: float) -> Window:
        """The same length, with its middle there."""
        return self.moved((share - (self.start + self.end) / 2) / (self.end - self.start))


@dataclass(frozen=True)
class Opened:
    """A trace that was read, and its figures (`kvtui.traces.info.info`)."""

    workload: Workload
    figures: dict[str, Any]


def chart_columns(width: int) -> tuple[int, int]:
    """First column and width of the arrival chart."""
    return 8, max(width - 9, 8)


CHART_ROWS = range(4, 4 + _TALL)


def trace_lines(opened: Opened, window: Window, *, width: int, height: int, ascii: bool) -> tuple[Line, ...]:
    """The page of `width` x `height` cells."""
    canvas = Canvas(width, height)
    workload, figures = opened.workload, opened.figures
    end = canvas.put(0, 0, cut(workload.name, width // 2), BOLD)
    canvas.put(end + 2, 0, cut(f"{len(workload):,} requests · {workload.format}", width - end - 2), T3)
    canvas.put(0, 1, cut(_window_words(workload, window), width), T2 if window.whole else WARN)
    _arrivals(canvas, workload, window, ascii=ascii)
    y = CHART_ROWS.stop + 2
    y = _both_lengths(canvas, opened, y, ascii=ascii) + 1
    canvas.put(0, y, cut(_reuse_words(figures["hit_rate_ceiling"]), width), T2)
    _notes(canvas, figures["assumed"], y + 2)
    return canvas.lines()


def _window_words(workload: Workload, window: Window) -> str:
    if not workload.timed:
        return "no arrival times: --rate makes them"
    span = workload.span_s
    if window.whole:
        return f"the whole trace, {formats.clock(span)} long"
    times = workload.arrival_ns[0] + np.array((window.start, window.end)) * span * S
    first, behind = np.searchsorted(workload.arrival_ns, times)
    when = f"from {formats.clock(window.start * span)} to {formats.clock(window.end * span)}"
    return f"{when}: {counted(int(behind - first), 'request')}"


def _arrivals(canvas: Canvas, workload: Workload, window: Window, *, ascii: bool) -> None:
    left, columns = chart_columns(canvas.width)
    counts = arrivals(workload, buckets=columns)
    top, seconds = max(counts), workload.span_s / columns
    peak = f"{top / seconds:,.3g}" if seconds else "n/a"
    canvas.put(0, CHART_ROWS.start - 1, f"Arrivals a second, at most {peak}", BOLD)
    levels = _PLAIN if ascii else _LEVELS
    for column, count in enumerate(counts):
        inside = window.start <= (column + 0.5) / columns <= window.end
        filled = round(8 * _TALL * count / top) if top else 0
        filled = max(filled, 1) if count else 0
        for row in range(_TALL):
            level = min(max(filled - 8 * (_TALL - 1 - row), 0), 8)
            canvas.put(left + column, CHART_ROWS[row], levels[level], lane_ink(1) if inside else T3)
    canvas.put(left, CHART_ROWS.stop, formats.tick(0.0), T3)
    canvas.put_right(left + columns, CHART_ROWS.stop, formats.tick(workload.span_s), T3)


def _both_lengths(canvas: Canvas, opened: Opened, y: int, *, ascii: bool) -> int:
    workload, figures = opened.workload, opened.figures
    pairs = (
        ("Prompt tokens", workload.prompt, figures["prompt"]),
        ("Output tokens", workload.output, figures["output"]),
    )
    beside = canvas.width >= _SIDE_BY_SIDE
    width = canvas.width // 2 - 2 if beside else canvas.width
    bars = _BARS if beside else _BARS // 2 + 1
    bottom = y
    for place, (title, tokens, spread) in enumerate(pairs):
        x = place * (width + 4) if beside else 0
        top = y if beside else bottom
        end = canvas.put(x, top, title, BOLD)
        about = "~" if workload.estimated else ""
        words = f"{about}mean {spread['mean']:,.0f}, p99 {spread['p99']:,.0f}"
        canvas.put(end + 1, top, cut(words, x + width - end - 1), T3)
        found = lengths(tokens, bars=bars)
        for row, bar in enumerate(found, top + 1):
            _bar(canvas, x, row, bar, width=width, most=max(b.requests for b in found), ascii=ascii)
        bottom = max(bottom, top + 1 + len(found))
    return bottom


def _bar(canvas: Canvas, x: int, y: int, bar: Bar, *, width: int, most: int, ascii: bool) -> None:
    label = f"{formats.count(bar.low)}–{formats.count(bar.high)}"
    canvas.put_right(x + 13, y, label, T3)
    room = width - 13 - 1 - 7
    length = round(room * bar.requests / most)
    canvas.put(x + 14, y, ("#" if ascii else "▄") * length, lane_ink(0))
    canvas.put_right(x + width, y, formats.count(bar.requests), T1 if bar.requests else RULE)


def _reuse_words(ceiling: float | None) -> str:
    if ceiling is None:
        return "prefix reuse: n/a, the trace does not say which prompts share a beginning"
    return f"prefix reuse: a cache without limit would have {ceiling:.1%} of the prompt tokens"


def _notes(canvas: Canvas, assumed: list[str], y: int) -> None:
    for sentence in assumed:
        for line in wrap(sentence, canvas.width):
            canvas.put(0, y, line, T3)
            y += 1
