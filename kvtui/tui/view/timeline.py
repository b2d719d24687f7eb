"""One row of time: what has been played, where the run stands, and what went wrong when."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from kvtui.frames.chronicle import Chronicle
from kvtui.frames.frame import EventKind, Frame
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.ink import BAD, RULE, T1, T2, T3, WARN, Ink
from kvtui.tui.view.scene import Mark, Scene

MARKS = {  # worst last
    EventKind.QUEUE.value: ("┳", T2),
    EventKind.EVICTED.value: ("┿", T3),
    EventKind.COPIED.value: ("◆", T1),
    EventKind.PREEMPTED.value: ("╋", WARN),
    EventKind.SWAPPED.value: ("▽", WARN),
    EventKind.REJECTED.value: ("╳", BAD),
}
_KINDS = tuple(EventKind(kind) for kind in MARKS)
_RANK = {kind: at for at, kind in enumerate(MARKS)}
_NARROW = 100  # cells of a row without room for all counts
_SHORTEST_S = 1.0
_NEARLY = 0.95
_NEAR, _CROWD = 4, 4  # cells each way, and how many of them marked make a stretch
_FINE = 1000  # marks of a kind are not told apart when nearer than this part of the time so far


class Marks:
    """Collects marks from the chronicles of lanes, or from the frames of a lane that keeps none; as many as a
    line of time can show."""

    def __init__(self, lanes: int) -> None:
        self._read = [0] * lanes
        self._seen = [(-1.0, -1)] * lanes
        self._marks: list[Mark] = []
        self._last: dict[tuple[int, str], float] = {}

    def read(self, lane: int, chronicle: Chronicle) -> None:
        """Take in what a lane's chronicle has gained."""
        if self._read[lane] == chronicle.events.total:
            return
        for event in chronicle.since(self._read[lane], _KINDS):
            self._mark(lane, event.kind.value, event.time_s)
        self._read[lane] = chronicle.events.total

    def add(self, lane: int, frame: Frame) -> None:
        """Take in what is new in a lane's frame."""
        seen = self._seen[lane]
        new = list(takewhile(lambda event: (event.time_s, event.step) > seen, frame.events))
        for event in reversed(new):
            if event.kind.value in MARKS:
                self._mark(lane, event.kind.value, event.time_s)
        if new:
            self._seen[lane] = (new[0].time_s, new[0].step)

    def _mark(self, lane: int, kind: str, time_s: float) -> None:
        last = self._last.get((lane, kind))
        if last is None or time_s - last > time_s / _FINE:
            self._last[lane, kind] = time_s
            self._marks.append(Mark(time_s, kind))

    def all(self) -> tuple[Mark, ...]:
        return tuple(self._marks)


def timeline_line(scene: Scene, *, width: int, margin: int) -> Line:
    """The whole row: now, line, end if it is known, legend with counts."""
    canvas = Canvas(width, 1)
    _track(canvas, scene, *_ends(canvas, scene, margin))
    return canvas.lines()[0]


def time_at(scene: Scene, x: int, *, width: int, margin: int) -> float | None:
    """The time that column `x` of the row stands for; None beside the line."""
    start, cells = _ends(Canvas(width, 1), scene, margin)
    inside = cells > 1 and start <= x < start + cells
    return (x - start) / (cells - 1) * whole_s(scene) if inside else None


def _ends(canvas: Canvas, scene: Scene, margin: int) -> tuple[int, int]:
    """Writes what stands beside the line; gives the line's first column and its cells."""
    x = canvas.put(margin, 0, f"{formats.clock(scene.time_s):<7}", T1) + 2
    right = _legend(canvas, scene, canvas.width - margin)
    if scene.end_s is not None:
        right = canvas.put_right(right - 2, 0, formats.clock(scene.end_s), T3)
    return x, right - 2 - x


def _legend(canvas: Canvas, scene: Scene, right: int) -> int:
    """What the marks stand for, with counts; gives the column where it starts."""
    there = [frame.counters for lane, frame in enumerate(scene.frames) if not scene.ahead(lane)]
    preempted, rejected = _sum([c.preemptions for c in there]), _sum([c.rejected for c in there])
    evicted = any(mark.kind == EventKind.EVICTED.value for mark in scene.marks)
    if evicted and canvas.width > _NARROW:
        right = _key(canvas, right, EventKind.EVICTED, scene.word("evicted")) - 2
    if rejected:
        words = f"{scene.word('rejected')} {formats.count(rejected)}"
        right = _key(canvas, right, EventKind.REJECTED, words) - 2
    words = f"{scene.word('preempted')} {formats.count(preempted)}"
    return _key(canvas, right, EventKind.PREEMPTED, words)


def _sum(counts: Sequence[int | None]) -> int | None:
    """Over all lanes; None where one of them does not tell."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _key(canvas: Canvas, right: int, kind: EventKind, words: str) -> int:
    glyph, ink = MARKS[kind.value]
    start = canvas.put_right(right, 0, words, T3)
    canvas.put(start - 2, 0, glyph, ink)
    return start - 2


def whole_s(scene: Scene) -> float:
    """Seconds that the line stands for. As long as the end is not known there is room behind the head: the
    line starts as long as the trace, and doubles whenever the run has nearly come to its end."""
    if scene.snapshots:
        return max(_reached(scene), _SHORTEST_S)  # of a real server nobody knows the end
    if scene.end_s is not None:
        return max(scene.end_s, _reached(scene), _SHORTEST_S)
    length = max(scene.heading.span_s, _SHORTEST_S)
    while _reached(scene) > _NEARLY * length:
        length *= 2
    return length


def _reached(scene: Scene) -> float:
    return max(scene.time_s, scene.reached_s)


def _track(canvas: Canvas, scene: Scene, x: int, width: int) -> None:
    if width < 2:
        return
    end = whole_s(scene)
    head, reached = (
        min(width - 1, int(t / end * (width - 1) + 0.5)) for t in (scene.time_s, _reached(scene))
    )
    marked: dict[int, str] = {}
    for mark in scene.marks:
        at = min(reached, int(mark.time_s / end * (width - 1) + 0.5))
        marked[at] = max(mark.kind, marked.get(at, mark.kind), key=_RANK.__getitem__)
    x_end = canvas.put(x, 0, "━" * head, T2)
    x_end = canvas.put(x_end, 0, "─" * (reached - head), T3)
    canvas.put(x_end, 0, "─" * (x + width - x_end), RULE)
    for at in marked:
        canvas.put(x + at, 0, *_marked(at, marked))
    canvas.put(x + head, 0, "●", T1)


def _marked(at: int, marked: dict[int, str]) -> tuple[str, Ink]:
    """A mark, or in a crowd of its kind a double line in its colour."""
    glyph, ink = MARKS[marked[at]]
    alike = sum(marked.get(cell) == marked[at] for cell in range(at - _NEAR, at + _NEAR + 1))
    return ("═" if alike >= _CROWD else glyph), ink
