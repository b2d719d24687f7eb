"""The queues: who waits, in the scheduler's own order, and who runs, nearest to its end first."""

from __future__ import annotations

from collections.abc import Callable

from kvtui.frame import RunningRow, WaitingRow
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.ink import BOLD, T2, T3, WARN, Ink, hue_ink, lane_ink
from kvtui.tui.view.scene import Scene

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_COLUMN = 29  # cells of one lane
_GAP = 2
_BAR = 8
_WAITING_ROWS = 0.4  # share of the rows, where both queues stand one above the other


def waiting_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    return _panel(scene, _waiting, width, height, margin, hint)


def running_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    return _panel(scene, _running, width, height, margin, hint)


def queue_lines(scene: Scene, *, width: int, height: int, margin: int = 2) -> tuple[Line, ...]:
    """Both, one above the other, where there is room for it."""
    waiting = round((height - 1) * _WAITING_ROWS)
    blank: Line = ((" " * width, T2),)
    above = waiting_lines(scene, width=width, height=waiting, margin=margin)
    below = running_lines(scene, width=width, height=height - 1 - waiting, margin=margin)
    return (*above, blank, *below)


_Draw = Callable[[Canvas, Scene, int, int, int], None]


def _panel(scene: Scene, draw: _Draw, width: int, height: int, margin: int, hint: str) -> tuple[Line, ...]:
    canvas = Canvas(width, height)
    fits = max(1, (width - margin + _GAP) // (_COLUMN + _GAP))
    for lane in range(min(len(scene.lanes), fits)):
        x = margin + lane * (_COLUMN + _GAP)
        draw(canvas, scene, lane, x, height)
    canvas.put_right(width - margin, 0, hint, T3)
    return canvas.lines()


def _head(canvas: Canvas, scene: Scene, lane: int, x: int, word: str, count: int) -> None:
    end = canvas.put(x, 0, word + " ", BOLD)
    end = canvas.put(end, 0, formats.count(count), lane_ink(lane, bold=True))
    canvas.put(end + 2, 0, scene.lanes[lane].name, lane_ink(lane))


def _waiting(canvas: Canvas, scene: Scene, lane: int, x: int, height: int) -> None:
    counters = scene.frames[lane].counters
    rows = scene.frames[lane].waiting
    _head(canvas, scene, lane, x, "Waiting", counters.waiting)
    shown = _shown(counters.waiting, len(rows), height)
    for at, row in enumerate(rows[:shown]):
        _waiting_row(canvas, x, 1 + at, row)
    _more(canvas, x, 1 + shown, counters.waiting - shown)


def _waiting_row(canvas: Canvas, x: int, y: int, row: WaitingRow) -> None:
    _name(canvas, x, y, row.request, WARN if row.preempted else T2)
    canvas.put_right(x + 12, y, f"{row.tokens:,}", T3)
    canvas.put(x + 13, y, "tok", T3)
    canvas.put_right(x + _COLUMN - 1, y, formats.latency(row.waited_s, "s"), T2)


def _running(canvas: Canvas, scene: Scene, lane: int, x: int, height: int) -> None:
    counters = scene.frames[lane].counters
    rows = scene.frames[lane].running
    _head(canvas, scene, lane, x, "Running", counters.running)
    shown = _shown(counters.running, len(rows), height)
    for at, row in enumerate(rows[:shown]):
        _running_row(canvas, x, 1 + at, row)
    _more(canvas, x, 1 + shown, counters.running - shown)


def _running_row(canvas: Canvas, x: int, y: int, row: RunningRow) -> None:
    _name(canvas, x, y, row.request, T2)
    hue = hue_ink(row.request)
    canvas.put(x + 8, y, _progress_bar(row.generated, row.output), hue.on("well"))
    canvas.put_right(x + _COLUMN - 1, y, formats.progress(row.generated, row.output), T3)


def _name(canvas: Canvas, x: int, y: int, request: int, ink: Ink) -> None:
    canvas.put(x, y, "▍", hue_ink(request))
    canvas.put(x + 1, y, formats.request(request), ink)


def _progress_bar(done: int, total: int) -> str:
    """Eight cells, filled to the eighth of a cell; full only at the end."""
    eighths = min(8 * _BAR, 8 * _BAR * done // max(1, total))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR)


def _shown(count: int, known: int, height: int) -> int:
    """Rows to show: all if they fit, else one is left for `and n more`."""
    room = height - 1
    return min(count, known) if count <= room and known >= count else min(room - 1, known)


def _more(canvas: Canvas, x: int, y: int, count: int) -> None:
    if count > 0:
        canvas.put(x, y, f"and {count:,} more", T3)
