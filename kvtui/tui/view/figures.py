"""The numbers that do not fit on the cards, lane beside lane."""

from __future__ import annotations

from kvtui.frame import Counters, Percentiles
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.ink import BAD, BOLD, T1, T3, WARN, Ink, lane_ink
from kvtui.tui.view.scene import Scene, short_names

_LABEL, _VALUE = 10, 8
Row = tuple[str, list[str], Ink]


def figure_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    """Counts and rates: two groups side by side where the width allows it, else one under the other."""
    canvas = Canvas(width, height)
    group = _LABEL + _VALUE * len(scene.lanes)
    beside = margin + 2 * group + 3 <= width
    names = [name.rjust(_VALUE) for name in short_names(scene.lanes)]
    groups = [_counts(scene), _rates(scene)]
    x, y = margin, 0
    for at, rows in enumerate(groups):
        title = ("Figures", "")[at]
        _group(canvas, x, y, title, names, rows)
        x, y = (x + group + 3, 0) if beside else (x, y + len(rows) + 1)
    canvas.put_right(width - margin, 0, hint, T3)
    return canvas.lines()


def _group(canvas: Canvas, x: int, y: int, title: str, names: list[str], rows: list[Row]) -> None:
    canvas.put(x, y, title, BOLD)
    for lane, name in enumerate(names):
        canvas.put(x + _LABEL + lane * _VALUE, y, name, lane_ink(lane))
    for at, (label, values, ink) in enumerate(rows, start=1):
        canvas.put(x, y + at, label, T3)
        for lane, value in enumerate(values):
            shown = ink if value not in ("0", formats.NA) else T3
            canvas.put_right(x + _LABEL + (lane + 1) * _VALUE, y + at, value, shown)


def _counts(scene: Scene) -> list[Row]:
    def each(label: str, name: str, ink: Ink = T1) -> Row:
        return label, [formats.count(getattr(c, name)) for c in _counters(scene)], ink

    return [
        each("running", "running"),
        each("waiting", "waiting"),
        each("preempted", "preemptions", WARN),
        each("finished", "finished"),
        each("rejected", "rejected", BAD),
    ]


def _rates(scene: Scene) -> list[Row]:
    counters = _counters(scene)
    return [
        ("tokens/s", [formats.count(c.output_tokens_per_s) for c in counters], T1),
        _latency("TTFT p50", [c.ttft for c in counters], "p50"),
        _latency("TTFT p99", [c.ttft for c in counters], "p99"),
        _latency("TPOT p50", [c.tpot for c in counters], "p50"),
        _latency("TPOT p99", [c.tpot for c in counters], "p99"),
    ]


def _latency(label: str, percentiles: list[Percentiles], name: str) -> Row:
    values = [getattr(each, name) for each in percentiles]
    unit = formats.unit_of(values)
    return label, [formats.latency(value, unit) for value in values], T1


def _counters(scene: Scene) -> list[Counters]:
    return [frame.counters for frame in scene.frames]
