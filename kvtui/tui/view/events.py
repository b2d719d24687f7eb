"""The event log: what happened to which request, newest first, all lanes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby

from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Event, EventKind
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, text_width
from kvtui.tui.view.ink import BAD, BOLD, T2, T3, WARN_BOLD, hue_ink, lane_ink
from kvtui.tui.view.scene import Scene, labels

_NAME, _WIDE_NAME = 10, 14  # cells of a lane's title at most
_WIDE = 72  # width from which there is room for the longer ones
_TOKENS = 24  # width of the details from which tokens are written out
_VERBS = {EventKind.HIT: "hit", EventKind.SAME_STEP_HIT: "hit at once"}
_INKS = {EventKind.PREEMPTED: WARN_BOLD, EventKind.SWAPPED: WARN_BOLD, EventKind.REJECTED: BAD}


def event_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    """The panel of `width` x `height` cells; `hint` stands at the right of the title."""
    canvas = Canvas(width, height)
    x = canvas.put(margin, 0, scene.word("Events"), BOLD)
    canvas.put(x + 2, 0, scene.word("newest first"), T3)
    canvas.put_right(width - margin, 0, hint, T3)
    names = labels(scene.lanes, width=_WIDE_NAME if width >= _WIDE else _NAME)
    id_at = margin + 10 + max(map(text_width, names))
    for row, (lane, event) in zip(range(1, height), newest(scene), strict=False):
        canvas.put(margin + 9, row, names[lane], lane_ink(lane))
        canvas.put(margin, row, formats.clock(event.time_s), T3)
        _event(canvas, row, id_at, scene, lane, event)
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


def _event(canvas: Canvas, row: int, x: int, scene: Scene, lane: int, event: Event) -> None:
    """Request, verb and detail from column `x` on."""
    if event.request >= 0:
        canvas.put(x, row, "▍", hue_ink(event.request))
        canvas.put(x + 1, row, formats.request(event.request), T2)
    verb = scene.word(_VERBS.get(event.kind, event.kind.value))
    canvas.put(x + 7, row, verb, _INKS.get(event.kind, T2))
    room = canvas.width - (x + 18) - 1
    if room >= 12:
        words = detail(event, scene.lanes[lane], room=room, said=scene.phrase)
        canvas.put(x + 18, row, words, T3)


def detail(event: Event, info: LaneInfo, *, room: int, said: Callable[[str], str] = str) -> str:
    """What else there is to say about an event, in the longest form that fits; `said`: in a language."""
    forms = (
        _refusal(event, info) if event.kind is EventKind.REJECTED else _detail(event, wide=room >= _TOKENS)
    )
    texts = [said(form) for form in forms]
    return next((text for text in texts if text_width(text) <= room), "") or cut(texts[-1], room)


def _refusal(event: Event, info: LaneInfo) -> tuple[str, ...]:
    unit = "blocks" if event.b == info.blocks else "tokens"
    have = "the pool has" if unit == "blocks" else "the limit is"
    return f"needs {event.a:,} {unit}, {have} {event.b:,}", f"{event.a:,} {unit} > {event.b:,}"


def _detail(event: Event, *, wide: bool) -> tuple[str, ...]:
    """From the longest form to the shortest; all of a panel write tokens in the same way."""
    a, b = event.a, event.b
    tokens, blocks = f"{a:,} tokens" if wide else f"{a:,} tok", formats.counted(a, "block")
    match event.kind:
        case EventKind.ADMITTED:
            return f"{tokens} · {formats.counted(b, 'block')}", tokens
        case EventKind.HIT:
            return f"{a:,} of {b:,} tokens were cached", f"{a:,} of {b:,} tok", tokens
        case EventKind.SAME_STEP_HIT:
            return f"{a:,} of these tokens are computed in this step", f"{tokens} of this step", tokens
        case EventKind.CHUNK:
            behind = f" after {b:,}" if b else ""
            return f"{a:,} tokens of its prompt{behind}", f"{tokens}{behind}", tokens
        case EventKind.PREEMPTED | EventKind.SWAPPED:
            return f"no free block for {formats.request(b)}", f"no block for {formats.request(b)}"
        case EventKind.ARRIVED:
            return f"{a:,} tokens of prompt, {b:,} to come", f"{a:,} + {b:,} tokens"
        case EventKind.FIRST_TOKEN:
            return (f"after {formats.latency(b / 1000, formats.unit_of([b / 1000]))}",)
        case EventKind.RESTARTED:
            return (f"{a:,} tokens are to be computed again",)
        case EventKind.COPIED:
            return (f"block {a} to {b}",)
        case EventKind.FINISHED:
            return f"{tokens} in {formats.latency(b / 1000, formats.unit_of([b / 1000]))}", tokens
        case _:
            return f"{blocks} others could have used", f"{blocks} of use", blocks
