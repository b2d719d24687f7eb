"""Batch size over time: all lanes on one axis from nothing, the names at the ends of their lines."""

from __future__ import annotations

from kvtui.tui.view import formats
from kvtui.tui.view.braille import Dots
from kvtui.tui.view.canvas import Canvas, Line, text_width
from kvtui.tui.view.formats import axis_top, ticks
from kvtui.tui.view.ink import BOLD, RULE, T3, lane_ink
from kvtui.tui.view.scene import Scene, labels

_TITLE = 16  # cells of a lane's title at most
_TICKS = 4  # cells left of the plot for the axis
_PLAIN = "*o+x"


def chart_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, ascii: bool = False
) -> tuple[Line, ...]:
    """The panel of `width` x `height` cells: a title, the plot, and three times under it."""
    canvas = Canvas(width, height)
    x = canvas.put(margin, 0, scene.word("Batch size"), BOLD)
    canvas.put(x + 2, 0, scene.word("requests running at once"), T3)
    left = margin + _TICKS
    titles = labels(scene.lanes, width=min(_TITLE, width // 3))
    digits = max(len(formats.count(frame.counters.running)) for frame in scene.frames)
    room = 4 + digits + max(map(text_width, titles))
    plot_width, plot_height = max(8, width - left - room), height - 2
    top = axis_top(max(frame.counters.batch_peak or 0 for frame in scene.frames))
    _axis(canvas, left, plot_width, plot_height, top, guide="." if ascii else "·")
    ends = _plot(canvas, scene, left, plot_width, plot_height, top, ascii=ascii)
    for lane, row in enumerate(_apart(ends, plot_height)):
        x = left + plot_width + 2
        running = formats.count(scene.frames[lane].counters.running)
        x = canvas.put(x, 1 + row, f"{running:>2} ", lane_ink(lane, bold=True))
        canvas.put(x, 1 + row, titles[lane], lane_ink(lane))
    _times(canvas, left, plot_width, height - 1, scene.time_s)
    return canvas.lines()


def _axis(canvas: Canvas, left: int, width: int, height: int, top: int, *, guide: str) -> None:
    ticks = {0: top, height - 1: 0}
    if height % 2:
        ticks[height // 2] = top // 2
    for row, value in ticks.items():
        canvas.put_right(left - 1, 1 + row, str(value), T3)
        canvas.put(left, 1 + row, f"{guide} " * (width // 2) + guide * (width % 2), RULE)


def _plot(
    canvas: Canvas, scene: Scene, left: int, width: int, height: int, top: int, *, ascii: bool
) -> list[int]:
    dots = Dots(width, height)
    ends = []
    for lane, frame in enumerate(scene.frames):
        running = frame.counters.running
        points = frame.batch if running is None else (*frame.batch, (scene.time_s, running))
        ends.append(
            dots.steps(
                points, lane, end=scene.time_s or 1.0, top=top, dashed=lane == 0 < len(scene.frames) - 1
            )
        )
    for y in range(height):
        for x, text, lane in dots.runs(y):
            chars = _PLAIN[lane % len(_PLAIN)] * len(text) if ascii else text
            canvas.put(left + x, 1 + y, chars, lane_ink(lane))
    return ends


def _apart(rows: list[int], height: int) -> list[int]:
    """Rows of the labels: where two lines end in one row, the later label moves down, or up at the bottom."""
    placed: list[int] = []
    for row in rows:
        while row in placed:
            row = row + 1 if row + 1 < height and max(placed) < height - 1 else row - 1
        placed.append(max(0, row))
    return placed


def _times(canvas: Canvas, left: int, width: int, row: int, end: float) -> None:
    start, middle, last = ticks((0.0, end / 2, end))
    canvas.put(left, row, start, T3)
    if end > 0:
        canvas.put(left + (width - len(middle)) // 2, row, middle, T3)
        canvas.put_right(left + width, row, last, T3)
