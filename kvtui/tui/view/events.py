"""The event log: what happened to which request, newest first, all lanes together."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby

from kvtui.frame import Event, EventKind, LaneInfo
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut
from kvtui.tui.view.ink import BAD, BOLD, T2, T3, WARN_BOLD, hue_ink, lane_ink
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
    for row, (lane, event) in zip(range(1, height), newest(scene), strict=False):
        _event(canvas, row, margin, scene.lanes[lane], event, lane, names[lane])
    return canvas.lines()


def newest(scene: Scene) -> Iterator[tuple[int, Event]]:
    """Events of all lanes, newest first. Evictions come in floods: those that follow each other in a lane
    are told as one, with their sum."""
    streams = ([(lane, event) for event in frame.events] for lane, frame in enumerate(scene.frames))
    merged = merge(*streams, key=lambda pair: -pair[1].time_s)
    for (lane, kind), group in groupby(merged, key=lambda pair: (pair[0], pair[1].kind)):
        if kind is not EventKind.EVICTED:
            yield from group
            continue
        flood = [event for _, event in group]
        yield lane, flood[0]._replace(a=sum(event.a for event in flood))


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
        canvas.put(x + 34, row, detail(event, info, room=room), T3)


def detail(event: Event, info: LaneInfo, *, room: int) -> str:
    """What else there is to say about an event, in the longest form that fits."""
    if event.kind is EventKind.REJECTED:
        return _refusal(event, info, room)
    return cut(_detail(event), room)


def _refusal(event: Event, info: LaneInfo, room: int) -> str:
    unit = "blocks" if event.b == info.blocks else "tokens"
    have = "the pool has" if unit == "blocks" else "the limit is"
    full = f"needs {event.a:,} {unit}, {have} {event.b:,}"
    return full if len(full) <= room else cut(f"{event.a:,} {unit} > {event.b:,}", room)


def _detail(event: Event) -> str:
    a, b = event.a, event.b
    match event.kind:
        case EventKind.ADMITTED:
            return f"{a:,} tokens · {b:,} blocks"
        case EventKind.HIT:
            return f"{a:,} of {b:,} tokens were cached"
        case EventKind.PREEMPTED:
            return f"no free block for {formats.request(b)}"
        case EventKind.FINISHED:
            return f"{a:,} tokens in {formats.latency(b / 1000, formats.unit_of([b / 1000]))}"
        case _:
            return f"{a:,} cached {'block' if a == 1 else 'blocks'}"
