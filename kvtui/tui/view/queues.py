"""The queues: who waits, in the scheduler's own order, and who runs, nearest to its end first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kvtui.frames.frame import Frame
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, text_width
from kvtui.tui.view.ink import BOLD, HOT, T2, T3, WARN, Ink, hue_ink, lane_ink
from kvtui.tui.view.listing import Row
from kvtui.tui.view.scene import Scene, labels

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NARROW, _WIDE = 28, 34  # cells of one lane
_GAP = 2
_SHORTEST = 4  # cells of a lane's title at least
_FILTER = 8  # cells of a filter at most
_BAR = 8
_WAITING_ROWS = 0.4  # share of the rows, where both queues stand one above the other


def waiting_lines(scene: Scene, *, width: int, height: int, margin: int = 2) -> tuple[Line, ...]:
    """A panel of `width` x `height` cells, lane beside lane."""
    return _panel(scene, _waiting, width, height, margin)


def running_lines(scene: Scene, *, width: int, height: int, margin: int = 2) -> tuple[Line, ...]:
    """A panel of `width` x `height` cells, lane beside lane."""
    return _panel(scene, _running, width, height, margin)


def queue_lines(scene: Scene, *, width: int, height: int, margin: int = 2) -> tuple[Line, ...]:
    """Both, side by side where all lanes have room for that; else one above the other."""
    half = width // 2
    if len(scene.lanes) * (_NARROW + _GAP) <= half - margin:
        left = waiting_lines(scene, width=half, height=height, margin=margin)
        right = running_lines(scene, width=width - half, height=height, margin=margin)
        return tuple((*one, *other) for one, other in zip(left, right, strict=True))
    waiting = round((height - 1) * _WAITING_ROWS)
    blank: Line = ((" " * width, T2),)
    above = waiting_lines(scene, width=width, height=waiting, margin=margin)
    below = running_lines(scene, width=width, height=height - 1 - waiting, margin=margin)
    return (*above, blank, *below)


_Draw = Callable[["_Column"], None]


@dataclass(frozen=True)
class _Column:
    """Where one lane's rows are drawn."""

    canvas: Canvas
    scene: Scene
    lane: int
    x: int
    width: int

    @property
    def end(self) -> int:
        return self.x + self.width

    @property
    def frame(self) -> Frame:
        return self.scene.frames[self.lane]

    def head(self, word: str, count: int | None, found: int) -> None:
        """What is listed and how many there are; under a filter, how many of them fit."""
        text, y, total = self.scene.listing.text, 0, formats.count(count)
        some = self.scene.phrase(f"{found:,} of") + " " if text else ""
        end = self.canvas.put(self.x, y, self.scene.word(word) + " ", BOLD)
        room = self.end - end - text_width(some + total) - _SHORTEST - 3  # the numbers come first
        if text and room >= min(_FILTER, text_width(text)):
            end = self.canvas.put(end, y, f"/{cut(text, min(_FILTER, room))} ", HOT)
        end = self.canvas.put(end, y, some, T3)
        end = self.canvas.put(end, y, total, lane_ink(self.lane, bold=True)) + 1
        if self.end - end >= _SHORTEST:
            title = labels(self.scene.lanes, width=self.end - end)[self.lane]
            self.canvas.put_right(self.end, y, title, lane_ink(self.lane))

    def name(self, y: int, request: int, ink: Ink) -> None:
        self.canvas.put(self.x, y, "▍", hue_ink(request))
        self.canvas.put(self.x + 1, y, formats.request(request), ink)

    def listed(self, word: str, count: int | None, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
        """The rows to show and where: all that fit the filter if there is room for them, else some of them
        and a row that says how many more there are."""
        listing, room = self.scene.listing, self.canvas.height - 1
        found = listing.matching(rows)
        self.head(word, count, len(found))
        total = len(found) if listing.text else max(count or 0, len(found))
        first, shown = listing.window(total, room, known=len(found))
        if total > shown:
            rest = self.scene.phrase(_rest(first, total - first - shown))
            self.canvas.put(self.x, 1 + shown, rest, T3)
        if listing.text and not total:
            self.canvas.put(self.x, 1, self.scene.word("none of them" if rows else "nobody"), T3)
        return enumerate(found[first : first + shown], start=1)


def _rest(above: int, below: int) -> str:
    """What the list does not show."""
    if not above:
        return f"and {below:,} more"
    return f"{above:,} above, {below:,} below" if below else f"{above:,} above"


def _panel(scene: Scene, draw: _Draw, width: int, height: int, margin: int) -> tuple[Line, ...]:
    canvas = Canvas(width, height)
    room = width - 2 * margin + _GAP
    lanes = max(1, min(len(scene.lanes), room // (_NARROW - 1 + _GAP)))
    column = min(_WIDE, room // lanes - _GAP)
    for place, lane in enumerate(_shown(scene, lanes)):
        draw(_Column(canvas, scene, lane, margin + place * (column + _GAP), column))
    return canvas.lines()


def _shown(scene: Scene, most: int) -> list[int]:
    """The lanes that have room: the first ones, and the chosen one among them."""
    lanes = list(range(most))
    return lanes if scene.focus is None or scene.focus in lanes else [*lanes[:-1], scene.focus]


def _waiting(column: _Column) -> None:
    frame = column.frame
    for y, row in column.listed("Waiting", frame.counters.waiting, frame.waiting):
        column.name(y, row.request, WARN if row.preempted else T2)
        column.canvas.put_right(column.x + 13, y, f"{row.tokens:,}", T3)
        column.canvas.put(column.x + 14, y, "tok", T3)
        column.canvas.put_right(column.end, y, formats.latency(row.waited_s, "s"), T2)


def _running(column: _Column) -> None:
    frame = column.frame
    for y, row in column.listed("Running", frame.counters.running, frame.running):
        column.name(y, row.request, T2)
        prompting = row.computed < row.prompt  # its prompt is computed in chunks
        done, total = (row.computed, row.prompt) if prompting else (row.generated, row.output)
        ink = T3 if prompting else hue_ink(row.request)
        column.canvas.put(column.x + 7, y, _progress_bar(done, total), ink.on("well"))
        column.canvas.put(column.x + 16, y, "prompt" if prompting and column.width >= _WIDE else "", T3)
        column.canvas.put_right(column.end, y, formats.progress(done, total), T3)


def _progress_bar(done: int, total: int) -> str:
    """Eight cells, filled to the eighth of a cell; full only at the end."""
    eighths = min(8 * _BAR, 8 * _BAR * done // max(1, total))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR)
