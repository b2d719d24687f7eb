"""The numbers that do not fit on the cards, lane beside lane."""

from __future__ import annotations

from kvtui.frames.counts import Counters, Percentiles
from kvtui.terms import (
    COST,
    EVICTED,
    FINISHED,
    HIT_AGAIN,
    HIT_RATE,
    PREEMPTED,
    RATE,
    REJECTED,
    SLO_KEPT,
    TPOT,
    TTFT,
)
from kvtui.timing.predict import band
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, text_width
from kvtui.tui.view.ink import BAD, BOLD, T1, T3, WARN, Ink, lane_ink
from kvtui.tui.view.scene import Scene, dollars, labels, slo_kept

_LABEL, _VALUE, _GAP = 10, 8, 3
_ERROR, _NEAR = 2, 2  # more of a label with an error, which the gap then gives room
_BANDED = 18  # a value with its band
_LONG, _WIDEST = 17, 16  # of a label and a value about the cache
Row = tuple[str, list[str], Ink]


def figure_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    """Counts and rates: two groups side by side where the width allows it, else one under the other."""
    canvas = Canvas(width, height)
    lanes, room = len(scene.lanes), width - margin
    beside = 2 * (_LABEL + _VALUE * lanes) + _GAP <= room
    columns = lanes * (1 + beside)
    error, gap = 0, _GAP
    fixed = 2 * _LABEL + gap if beside else _LABEL
    told = fixed + _ERROR - (_GAP - _NEAR) * beside
    if scene.heading.tpot_off_pct is not None and told + _VALUE * columns <= room - margin:
        error, gap, fixed, room = _ERROR, _NEAR, told, room - margin
    value = _column(scene, (room - fixed) // columns)
    group = _LABEL + value * lanes
    used = margin + fixed + value * columns
    covered = bool(hint) and used > width - margin - text_width(hint) - 1
    groups = [_counts(scene), _rates(scene, label=_LABEL + error, value=value)]
    if beside:  # where not all rows have room: what the cards tell in any case stands first
        groups = [rows[-max(1, height - 1) :] for rows in groups]
    y, tall = 0, len(groups[0]) + 1
    if covered and height > (tall if beside else 2 * tall + 1):
        canvas.put(margin, 0, scene.word("Figures"), BOLD)  # its own row: the hint covers no name
        y = 1
    elif covered:
        hint = ""
    names = [name.rjust(value) for name in labels(scene.lanes, width=value - 1)]
    for at, rows in enumerate(groups):
        x = margin + at * (group + gap) if beside else margin
        top = y if beside else y + at * (tall + 1)
        canvas.put(x, top, "" if at or y else scene.word("Figures"), BOLD)
        label = _LABEL if beside and not at else _LABEL + error
        _group(canvas, x, top, names, _named(scene, rows), value, label)
    canvas.put_right(width - margin, 0, hint, T3)
    return canvas.lines()


def cache_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = ""
) -> tuple[Line, ...]:
    """What the prefix cache found, lost and kept; chunks of prompts, and drafts where there are any."""
    canvas = Canvas(width, height)
    value = max(_VALUE, min(_WIDEST, (width - 2 * margin - _LONG) // len(scene.lanes)))
    canvas.put(margin, 0, scene.word("Cache"), BOLD)
    names = [name.rjust(value) for name in labels(scene.lanes, width=value - 1)]
    rows = _named(scene, _cache(scene)[: height - 1])
    _group(canvas, margin, 0, names, rows, value, label=_LONG)
    used = margin + _LONG + value * len(scene.lanes)
    canvas.put_right(width - margin, 0, hint if used + text_width(hint) + 1 < width - margin else "", T3)
    return canvas.lines()


def _named(scene: Scene, rows: list[Row]) -> list[Row]:
    """The same with labels in the language of the screen."""
    return [(scene.word(label), values, ink) for label, values, ink in rows]


def _cache(scene: Scene) -> list[Row]:
    """Two hit rates under their own names, as vLLM counts them apart."""
    counters = _counters(scene)
    rows = [
        (HIT_RATE.name, [_rate(c.hit_tokens, c.query_tokens) for c in counters], T1),
        (HIT_AGAIN.name, [_rate(c.readmit_hit_tokens, c.readmit_query_tokens) for c in counters], T1),
        ("same-step hits", [_number(c.same_step_hit_tokens) for c in counters], T1),
        (EVICTED.name, [_number(c.evictions) for c in counters], T1),
        ("of use to others", [_number(c.reusable_evictions) for c in counters], T1),
        ("prompt chunks", [_number(c.chunks) for c in counters], T1),
    ]
    if any(c.draft_tokens for c in counters):
        rows.insert(
            0, ("drafts accepted", [_rate(c.accepted_draft_tokens, c.draft_tokens) for c in counters], T1)
        )
    return rows


def _rate(part: int | None, whole: int | None) -> str:
    return formats.share(100 * part / whole) if whole and part is not None else formats.NA


def _number(value: int | None) -> str:
    return formats.NA if value is None else formats.count(value)


def _column(scene: Scene, room: int) -> int:
    """Cells of one lane's figures: as many of `room` as its title wants, and the band of a time."""
    wanted = max(text_width(lane.title) for lane in scene.lanes) + 1
    wanted = max(wanted, 0 if scene.heading.tpot_off_pct is None else _BANDED)
    return max(_VALUE, min(wanted, room))


def _group(
    canvas: Canvas, x: int, y: int, names: list[str], rows: list[Row], value: int, label: int = _LABEL
) -> None:
    for lane, name in enumerate(names):
        canvas.put(x + label + lane * value, y, name, lane_ink(lane))
    for at, (word, values, ink) in enumerate(rows, start=1):
        canvas.put(x, y + at, word, T3)
        for lane, text in enumerate(values):
            shown = ink if text not in ("0", formats.NA) else T3
            canvas.put_right(x + label + (lane + 1) * value, y + at, text, shown)


def _counts(scene: Scene) -> list[Row]:
    def each(label: str, name: str, ink: Ink = T1) -> Row:
        return label, [formats.count(getattr(c, name)) for c in _counters(scene)], ink

    kept = [slo_kept(scene, lane) for lane in range(len(scene.lanes))]
    return [
        each("running", "running"),
        each("waiting", "waiting"),
        each(PREEMPTED.name, "preemptions", WARN),
        each(FINISHED.name, "finished"),
        each(REJECTED.name, "rejected", BAD),
        *([(SLO_KEPT.name, kept, T1)] if any(kept) else []),
    ]


def _rates(scene: Scene, *, label: int, value: int) -> list[Row]:
    """Times in the middle with their error: others measured means, which tell nothing about the slowest."""
    counters, heading = _counters(scene), scene.heading
    ttft, tpot = [c.ttft for c in counters], [c.tpot for c in counters]
    return [
        (RATE.name, [formats.count(c.output_tokens_per_s) for c in counters], T1),
        _predicted(_latency(f"{TTFT.name} p50", ttft, "p50"), ttft, heading.ttft_off_pct, label, value),
        _latency(f"{TTFT.name} p99", ttft, "p99"),
        _predicted(_latency(f"{TPOT.name} p50", tpot, "p50"), tpot, heading.tpot_off_pct, label, value),
        _latency(f"{TPOT.name} p99", tpot, "p99"),
        *_cost(scene),
    ]


def _cost(scene: Scene) -> list[Row]:
    """Dollars of a million generated tokens, where the hour of the GPUs has a price."""
    costs = [dollars(scene, lane) for lane in range(len(scene.lanes))]
    return [(COST.name, costs, T1)] if any(costs) else []


def _latency(label: str, percentiles: list[Percentiles], name: str) -> Row:
    values = [getattr(each, name) for each in percentiles]
    unit = formats.unit_of(values)
    return label, [formats.latency(value, unit) for value in values], T1


def _predicted(
    row: Row, percentiles: list[Percentiles], off_pct: float | None, label: int, value: int
) -> Row:
    """The row with the band in which the truth lies as often as not; where that has no room, with the error
    behind the label."""
    if off_pct is None:
        return row
    values = [each.p50 for each in percentiles]
    unit = formats.unit_of(values)
    bands = [formats.within(each, *band(each or 0.0, off_pct), unit) for each in values]
    if max(map(text_width, bands)) < value - 1:
        return row[0], bands, row[2]
    named = f"{row[0]} ±{off_pct:.0f}%"
    return (named if text_width(named) <= label + 1 else row[0]), row[1], row[2]


def _counters(scene: Scene) -> list[Counters]:
    return [frame.counters for frame in scene.frames]
