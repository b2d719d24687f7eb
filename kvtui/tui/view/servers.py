"""Figures of real servers, each with where it comes from."""

from __future__ import annotations

from collections.abc import Callable

from kvtui.live.numbers import UNKNOWN, Number, Origin, derived, simulated
from kvtui.live.report import SIMULATED
from kvtui.live.watch import Snapshot
from kvtui.terms import FINISHED, HIT_RATE, PREEMPTED, RATE, TTFT
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.ink import BOLD, T1, T3, lane_ink
from kvtui.tui.view.scene import Scene, labels

_LABEL, _VALUE, _GAP = 11, 11, 3
_LETTER = {Origin.REPORTED: "r", Origin.DERIVED: "d", Origin.SIMULATED: "s", Origin.UNKNOWN: " "}
_LEGEND = "r reported, d derived"
_BESIDE = ", s simulated"

Row = tuple[str, Callable[[Snapshot], Number], Callable[[float], str]]


def _share(value: float) -> str:
    return formats.share(100 * value)


def _total(name: str) -> Callable[[Snapshot], Number]:
    return lambda snapshot: snapshot.totals.get(name, UNKNOWN)


def _ttft(name: str) -> Callable[[Snapshot], Number]:
    def read(snapshot: Snapshot) -> Number:
        found = snapshot.latency.get("ttft_s")
        known = simulated if snapshot.reading.kind == SIMULATED else derived
        return known(None if found is None else getattr(found, name))

    return read


def _seconds(value: float) -> str:
    return formats.latency(value, formats.unit_of([value]))


_ROWS: tuple[Row, ...] = (
    ("running", lambda s: s.reading.running, formats.count),
    ("waiting", lambda s: s.reading.waiting, formats.count),
    ("KV in use", lambda s: s.reading.usage, _share),
    ("KV cached", lambda s: s.reading.cached, _share),
    ("blocks", lambda s: s.reading.blocks, formats.count),
    (RATE.name, lambda s: s.rates.get("output_tokens_per_s", UNKNOWN), formats.count),
    (HIT_RATE.brief, lambda s: s.hit_rate, _share),
    (PREEMPTED.name, _total("preemptions"), formats.count),
    (FINISHED.name, _total("finished"), formats.count),
    (f"{TTFT.name} p50", _ttft("p50"), _seconds),
    (f"{TTFT.name} p99", _ttft("p99"), _seconds),
)


def server_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    """The panel of `width` x `height` cells, in as many columns as there is room for."""
    canvas = Canvas(width, height)
    x = canvas.put(margin, 0, "Figures", BOLD)
    published = all(info.label == "live" for info in scene.lanes)
    legend = _LEGEND if published else _LEGEND + _BESIDE
    if x + 2 + len(legend) < width - margin - len(hint):
        canvas.put(x + 2, 0, legend, T3)
    canvas.put_right(width - margin, 0, hint, T3)
    several = len(scene.snapshots) > 1
    top, rows = 1 + several, max(1, height - 1 - several)
    group = _LABEL + _VALUE * len(scene.snapshots)
    for at, row in enumerate(_ROWS):
        x = margin + at // rows * (group + _GAP)
        if x + group > width:
            break
        if several and not at % rows:
            _names(canvas, scene, x + _LABEL)
        _row(canvas, scene, x, top + at % rows, row)
    return canvas.lines()


def _names(canvas: Canvas, scene: Scene, x: int) -> None:
    for lane, name in enumerate(labels(scene.lanes, width=_VALUE - 3)):
        canvas.put_right(x + (lane + 1) * _VALUE - 2, 1, name, lane_ink(lane))


def _row(canvas: Canvas, scene: Scene, x: int, y: int, row: Row) -> None:
    label, read, written = row
    canvas.put(x, y, label, T3)
    for lane, snapshot in enumerate(scene.snapshots):
        end = x + _LABEL + (lane + 1) * _VALUE
        value, origin = read(snapshot)
        text, ink = (formats.NA, T3) if value is None else (written(value), T1)
        canvas.put_right(end - 2, y, text, ink)
        canvas.put(end - 1, y, _LETTER[origin], T3)
