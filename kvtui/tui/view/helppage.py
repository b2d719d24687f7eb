"""The help page: every key, and what every shape of the picture stands for."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import groupby

from kvtui.frames.frame import EventKind
from kvtui.terms import HOLES, TPOT, TTFT
from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.cells import MANY, Kind, code
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.ink import BOLD, HOT, T2, T3, WARN, Ink, lane_ink
from kvtui.tui.view.keys import NOTHING, Key, keys_for
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scale import Scale, cell_words
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.timeline import MARKS

_SPLIT_AT = 112  # width from which keys and picture stand side by side
_ROWS = 96

_PICTURE: tuple[tuple[tuple[int, ...], str], ...] = (
    ((code(Kind.STORED, 8, 0),) * 5, "tokens stored; one hue per request, everywhere"),
    (
        (code(Kind.STORED, 8, 1), code(Kind.STORED, 8, 1), code(Kind.PART, 3, 1)),
        "this cell is only part full, drawn to the eighth",
    ),
    ((code(Kind.LATER, 0, 4),) * 5, "held: the request will fill this later"),
    ((code(Kind.NEVER, 0, 4),) * 5, "held: the request will never fill this"),
    ((code(Kind.HOLE),) * 5, "hole: free, but too small for the next region"),
    ((code(Kind.FREE),) * 5, "free"),
    (
        tuple(code(Kind.SHARED, amount) for amount in (2, 2, 3, 3, MANY)),
        "shared: that many requests use the block",
    ),
    ((code(Kind.CACHED),) * 5, "cached: no owner, kept until the space is needed"),
    ((code(Kind.COPIED),) * 5, "copied in this step (copy-on-write)"),
)

_HAPPENED = {
    EventKind.QUEUE: "a request had to wait: a queue starts",
    EventKind.EVICTED: "blocks others could have used were evicted",
    EventKind.COPIED: "a block was copied (copy-on-write)",
    EventKind.PREEMPTED: "a request was preempted",
    EventKind.SWAPPED: "a request was swapped out",
    EventKind.REJECTED: "a request was rejected",
}


def help_lines(
    scene: Scene, scale: Scale, look: Look, *, width: int, margin: int = 2, useless: Set[str] = NOTHING
) -> tuple[Line, ...]:
    """The whole page but for keys whose actions are `useless`; as many lines as it takes."""
    canvas = Canvas(width, _ROWS)
    bottom = _keys(canvas, margin + 2, keys_for(len(scene.lanes), useless=useless))
    if width >= _SPLIT_AT:
        below = _legend(canvas, width // 2, 0, scene, scale, look)
    else:
        below = _legend(canvas, margin + 2, bottom + 1, scene, scale, look)
    return canvas.lines()[: max(bottom, below)]


def _keys(canvas: Canvas, x: int, table: Sequence[Key]) -> int:
    end = canvas.put(x, 0, "Help", BOLD)
    canvas.put(end + 2, 0, "every key here is also in the palette, ctrl+p", T3)
    y = 2
    for group, keys in groupby(table, key=lambda key: key.group):
        canvas.put(x, y, group, BOLD)
        for key in keys:
            y += 1
            canvas.put(x, y, key.written, HOT)
            canvas.put(x + 9, y, key.help, T2)
        y += 2
    return y


def _legend(canvas: Canvas, x: int, y: int, scene: Scene, scale: Scale, look: Look) -> int:
    end = canvas.put(x, y, "The picture", BOLD)
    canvas.put(end + 2, y, cell_words(scale, scene.lanes), T3)
    y += 1
    for codes, words in _PICTURE:
        y += 1
        for at, each in enumerate(codes):
            canvas.put(x + at, y, *glyph(each, look))
        canvas.put(x + 7, y, words, T2)
    y = _split(canvas, x, y + 2)
    y = _words(canvas, x, y + 1, scene)
    return _timeline(canvas, x, y + 1)


def _split(canvas: Canvas, x: int, y: int) -> int:
    end = canvas.put(x, y, "The split", BOLD)
    canvas.put(end + 2, y, "always adds up to 100 %", T3)
    entries = (
        (lane_ink(1), "stored, in the colour of the lane"),
        (T3, "held for later, or cached"),
        (WARN, "wasted: never used, or unfilled block ends"),
        (Ink("hole"), HOLES.name),
    )
    for ink, words in entries:
        y += 1
        canvas.put(x, y, "▄▄▄▄▄", ink)
        canvas.put(x + 7, y, words, T2)
    return y + 1


def _timeline(canvas: Canvas, x: int, y: int) -> int:
    end = canvas.put(x, y, "The timeline", BOLD)
    canvas.put(end + 2, y, "marks when it happened", T3)
    for kind, words in _HAPPENED.items():
        y += 1
        canvas.put(x, y, *MARKS[kind.value])
        canvas.put(x + 7, y, words, T2)
    return y + 1


def _words(canvas: Canvas, x: int, y: int, scene: Scene) -> int:
    canvas.put(x, y, "Words", BOLD)
    entries = (
        ("batch", "requests running at once"),
        ("block", f"room for {scene.lanes[-1].block_size} tokens"),
        ("slot", "room for one token"),
        ("preempted", "put back in the queue; memory ran out"),
        (TTFT.name, f"{TTFT.means}{_off(scene.heading.ttft_error)}"),
        (TPOT.name, f"{TPOT.means}{_off(scene.heading.tpot_error)}"),
        *([("SLO", f"kept: {scene.heading.slo}")] if scene.heading.slo else []),
        *([("pool", "taken whole: to nvidia-smi it is as full empty")] if scene.device else []),
    )
    for word, meaning in entries:
        y += 1
        canvas.put(x, y, word, BOLD._replace(bold=False))
        canvas.put(x + 11, y, meaning, T2)
    return y + 1


def _off(error: str) -> str:
    """How far off a predicted time is where others have measured."""
    return f", {error}" if error else ""
