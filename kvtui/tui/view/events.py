"""The event log: what happened to which request, newest first, all lanes together."""

from __future__ import annotations

from heapq import merge

from kvtui.frame import Event, EventKind, LaneInfo
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut
from kvtui.tui.view.ink import BAD, BOLD, T2, T3, WARN_BOLD, Ink, hue_ink, lane_ink
from kvtui.tui.view.scene import Scene, short_names

_VERBS = {EventKind.HIT: "hit"}
_INKS = {EventKind.PREEMPTED: WARN_BOLD, EventKind.REJECTED: BAD}


def event_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    """The panel of `width` x `height` cells; `hint` stands at the right of the title."""
    canvas = Canvas(width, height)
    x = canvas.put(margin, 0, "Events", BOLD)
    canvas.put(x + 2, 0, "newest first", T3)
    canvas.put_right(width - margin, 0, hint, T3)
    names = short_names(scene.lanes)
    streams = ([(lane, event) for event in frame.events] for lane, frame in enumerate(scene.frames))
    newest = merge(*streams, key=lambda pair: -pair[1].time_s)
    for row, (lane, event) in zip(range(1, height), newest, strict=False):
        _event(canvas, row, margin, scene.lanes[lane], event, lane, names[lane])
    return canvas.lines()


def _event(canvas: Canvas, row: int, x: int, info: LaneInfo, event: Event, lane: int, name: str) -> None:
    canvas.put(x, row, formats.clock(event.time_s), T3)
    canvas.put(x + 9, row, name, lane_ink(lane))
    if event.request >= 0:
        canvas.put(x + 16, row, "▍", hue_ink(event.request))
        canvas.put(x + 17, row, formats.request(event.request), T2)
    verb = _VERBS.get(event.kind, event.kind.value)
    canvas.put(x + 23, row, verb, _INKS.get(event.kind, T2))
    room = canvas.width - (x + 34) - 1
    if room >= 12:
        canvas.put(x + 34, row, cut(detail(event, info), room), Ink("t3"))


def detail(event: Event, info: LaneInfo) -> str:
    """What else there is to say about an event."""
    unit = "slots" if info.region_blocks else "blocks"
    a, b = event.a, event.b
    match event.kind:
        case EventKind.ADMITTED:
            return f"{a:,} tokens · {b:,} {unit}"
        case EventKind.HIT:
            return f"{a:,} of {b:,} tokens were cached"
        case EventKind.PREEMPTED:
            return f"no free block for {formats.request(b)}"
        case EventKind.FINISHED:
            return f"{a:,} tokens in {formats.latency(b / 1000, formats.unit_of([b / 1000]))}"
        case EventKind.REJECTED:
            return f"needs {a:,} {unit}, pool has {b:,}"
        case EventKind.EVICTED:
            return f"{a:,} cached blocks for {formats.request(b)}"
