"""The summary page: the verdict in a sentence, the two mean batches, and what else came out."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from kvtui.frames.counts import Counters
from kvtui.frames.frame import Frame
from kvtui.terms import (
    E2E,
    FINISHED,
    MEAN_BATCH,
    PEAK_BATCH,
    PREEMPTED,
    RATE,
    REJECTED,
    SLO_KEPT,
    TPOT,
    TTFT,
    UNFINISHED,
)
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, text_width, wrap
from kvtui.tui.view.digits import SMALL, WIDE, Face, digits
from kvtui.tui.view.ink import BOLD, RULE, T1, T2, T3, WARN, Ink, lane_ink
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene, baseline, comparable, compared, labels, slo_kept
from kvtui.tui.view.situation import NO_GAIN, whole

_WIDTH = 92
_ROWS = 160
_WORDS = 24  # cells of a difference in words
_GAP = 2


def summary_lines(scene: Scene, look: Look, *, width: int) -> tuple[Line, ...]:
    """The whole page, centred; as many lines as it takes."""
    inner = min(_WIDTH, width - 4)
    x = (width - inner) // 2
    canvas = Canvas(width, _ROWS)
    page = _Page(canvas, scene, look, x, inner)
    y = page.verdict(0)
    y = page.means(y + (2 if inner >= _WIDTH else 1))
    y = page.tables(y + 1)
    y = page.notes(y + 1)
    return canvas.lines()[:y]


class Row(NamedTuple):
    """A line of the table: figures as text, the difference in words, whether it is for the worse."""

    label: str
    values: tuple[str, ...]
    words: str = ""
    worse: bool = False


class _Page:
    def __init__(self, canvas: Canvas, scene: Scene, look: Look, x: int, width: int) -> None:
        self.canvas = canvas
        self.scene = scene
        self.look = look
        self.x = x
        self.width = width
        _, self.other = compared(scene)
        self.base = baseline(scene, self.other)

    @property
    def right(self) -> int:
        return self.x + self.width

    def words(self, x: int, y: int, text: str, ink: Ink = T2) -> int:
        """A text broken at words; gives the row behind it."""
        for line in wrap(text, self.right - x):
            self.canvas.put(x, y, line, ink)
            y += 1
        return y

    def verdict(self, y: int) -> int:
        """What was run, and what came of it."""
        end = self.canvas.put(self.x, y, "Summary", BOLD)
        y = self.words(end + 2, y, _subject(self.scene), T3) + (2 if self.width >= _WIDTH else 1)
        if self.scene.run is not Run.ENDED:
            now = formats.clock(self.scene.time_s)
            return self.words(self.x, y, f"So far, at {now}: the run stands still while this page is open.")
        y = self.words(self.x, y, self.scene.verdict)
        return self.words(self.x, y, _why(self.scene, self.base, self.other))

    def means(self, y: int) -> int:
        """The mean batch of each lane in large figures, as many in a row as there is room for."""
        lanes = len(self.scene.lanes)
        face = WIDE if self.width >= 44 * lanes else SMALL
        beside = _even(lanes, self.width // 26)
        for first in range(0, lanes, beside):
            for place, lane in enumerate(range(first, min(first + beside, lanes))):
                end = self._mean(lane, self.x + place * (self.width // beside), y, face)
            y = end + 1
        return y - 1

    def _mean(self, lane: int, x: int, y: int, face: Face) -> int:
        end = self.canvas.put(x, y, cut(self.scene.lanes[lane].title, 14), lane_ink(lane, bold=True))
        self.canvas.put(end + 1, y, MEAN_BATCH.name, T3)
        mean = self.scene.frames[lane].counters.batch_mean
        if mean is None:
            self.canvas.put(x, y + 2, formats.NA, T3)
            return y + 3
        rows = digits(formats.mean(mean), face, ascii=self.look.ascii)
        for row, text in enumerate(rows):
            self.canvas.put(x, y + 2 + row, text, lane_ink(lane, bold=self.look.ascii))
        base = baseline(self.scene, lane)
        times = formats.ratio(mean, self.scene.frames[base].counters.batch_mean or 0)
        if lane != base and times:
            pill = Ink("inv", lane_ink(lane).fg, bold=True)
            self.canvas.put(x + len(rows[0]) + (3 if face is WIDE else 1), y + 2, f" {times} ", pill)
        return y + 2 + len(rows)

    def tables(self, y: int) -> int:
        """Figures lane by lane and what the difference is worth; in as many tables as the width asks for."""
        ended = self.scene.run is Run.ENDED
        rows = _rows([frame.counters for frame in self.scene.frames], self.base, self.other, ended=ended)
        if self.scene.heading.slo:
            kept = tuple(slo_kept(self.scene, lane) or formats.NA for lane in range(len(self.scene.lanes)))
            rows.append(Row(SLO_KEPT.name, kept))
        if ended:
            rows.append(Row("ended at", tuple(formats.clock(frame.time_s) for frame in self.scene.frames)))
        names = labels(self.scene.lanes, width=14)
        label = max(len(row.label) for row in rows)
        column = _GAP + max(text_width(text) for row in rows for text in (*row.values, *names))
        together = _even(len(names), (self.width - label) // column)
        worded = self.base != self.other and label + column * len(names) + _GAP + _WORDS <= self.width
        for first in range(0, len(names), together):
            lanes = range(first, min(first + together, len(names)))
            y = self._table(y, rows, names, lanes, column, worded=worded) + 1
        return y - 1

    def _table(
        self, y: int, rows: list[Row], names: list[str], lanes: range, column: int, *, worded: bool
    ) -> int:
        end = self.right - (_WORDS + _GAP if worded else 0)
        ends = {lane: end - column * (lanes[-1] - lane) for lane in lanes}
        for lane in lanes:
            self.canvas.put_right(ends[lane], y, names[lane], lane_ink(lane))
        if worded:
            self.canvas.put_right(self.right, y, f"{names[self.other]} is", T3)
        self.canvas.put(self.x, y + 1, "─" * self.width, RULE)
        y += 2
        for row in rows:
            self.canvas.put(self.x, y, row.label, T2)
            for lane in lanes:
                self.canvas.put_right(ends[lane], y, row.values[lane], BOLD if lane else T1)
            if worded:
                self.canvas.put_right(self.right, y, row.words, WARN if row.worse else T3)
            y += 1
        return y

    def notes(self, y: int) -> int:
        """What the difference is worth, and when there would be none."""
        for title, text in _notes(self.scene, self.base, self.other):
            self.canvas.put(self.x, y, title, BOLD)
            y = self.words(self.x + 12, y, text)
        return y


def _even(things: int, room: int) -> int:
    """How many of so many things go into a row that has room for `room`, so that the rows are alike."""
    rows = ceil(things / max(1, room))
    return ceil(things / rows)


def _subject(scene: Scene) -> str:
    heading = scene.heading
    lane = scene.lanes[0]
    pool = formats.memory(lane.pool_bytes) if lane.pool_bytes else f"{lane.pool_tokens:,} slots"
    pool += " per GPU" if heading.gpus > 1 and lane.pool_bytes else ""
    seed = f", seed {heading.seed}" if heading.seed is not None else ""
    return f"{heading.requests:,} requests{seed}, the same {pool} of KV memory in each lane, {heading.label}"


def _why(scene: Scene, base: int, other: int) -> str:
    """Why the batches differ, where it is the memory that makes the difference."""
    a, b = (scene.frames[lane].counters.batch_mean or 0 for lane in (base, other))
    paging = (scene.lanes[base].manager, scene.lanes[other].manager) == ("contiguous", "paged")
    if paging and a and b >= NO_GAIN * a:
        return "It held more requests at once because it kept memory only for tokens that exist."
    return ""


def _rows(lanes: list[Counters], base: int, other: int, *, ended: bool) -> list[Row]:
    """Figures of all lanes; the words compare two. Before the end, times of unequal numbers of requests are
    not compared: those that wait are the slow ones, and a lane that serves few looks quick."""
    ttft, e2e, tpot = ([getattr(c, name) for c in lanes] for name in ("ttft", "e2e", "tpot"))
    pair = base, other
    known = pair if ended or ttft[base].n == ttft[other].n else (base, base)
    through = pair if ended or e2e[base].n == e2e[other].n else (base, base)
    return [
        _more(RATE.name, [c.output_tokens_per_s for c in lanes], pair, "higher", "lower"),
        _more(PEAK_BATCH.name, [c.batch_peak for c in lanes], pair, "larger", "smaller"),
        _pair(f"{TTFT.name}, p50 / p99", [(p.p50, p.p99) for p in ttft], known),
        *([] if known == pair else [_answered([p.n for p in ttft])]),
        _pair(f"{E2E.name}, p50 / p99", [(p.p50, p.p99) for p in e2e], through),
        _slower(f"{TPOT.name}, mean", [p.mean for p in tpot], pair),
        Row(PREEMPTED.name, tuple(formats.count(c.preemptions) for c in lanes)),
        Row(FINISHED.name, tuple(formats.count(c.finished) for c in lanes)),
        *_if_any(REJECTED.name, [c.rejected for c in lanes]),
        *_if_any(UNFINISHED.name, [c.unfinished for c in lanes]),
    ]


def _answered(counts: list[int]) -> Row:
    return Row("  of so many requests", tuple(map(formats.count, counts)), "without those that wait")


def _if_any(label: str, values: list[int]) -> list[Row]:
    return [Row(label, tuple(map(formats.count, values)))] if any(values) else []


def _more(label: str, values: list[float], pair: tuple[int, int], up: str, down: str) -> Row:
    """A figure of which more is better; not known of a lane that has yet to branch off."""
    texts = tuple(formats.count(value) for value in values)
    a, b = (values[lane] or 0 for lane in pair)
    if pair[0] == pair[1] or min(a, b) <= 0:
        return Row(label, texts)
    times = formats.ratio(max(a, b), min(a, b))
    if times == "1.0x":
        return Row(label, texts, "the same")
    return Row(label, texts, f"{times} {up if b > a else down}", worse=b < a)


def _pair(label: str, values: list[tuple[float | None, float | None]], pair: tuple[int, int]) -> Row:
    """Two percentiles a lane; the difference is that of the first, the median."""
    unit = formats.unit_of([value for both in values for value in both])
    texts = tuple(_two(both, unit) for both in values)
    a, b = (values[lane][0] for lane in pair)
    if pair[0] == pair[1] or a is None or b is None:
        return Row(label, texts)
    sooner = a - b
    text = formats.latency(abs(sooner), unit)
    if text in ("0.0 s", "0 ms"):
        return Row(label, texts, "the same")
    return Row(label, texts, f"{text} {'sooner' if sooner > 0 else 'later'}", worse=sooner < 0)


def _two(pair: tuple[float | None, float | None], unit: str) -> str:
    first, second = (formats.latency(value, unit) for value in pair)
    same_unit = first.endswith(f" {unit}") and second.endswith(f" {unit}")
    return f"{first.removesuffix(f' {unit}') if same_unit else first} / {second}"


def _slower(label: str, values: list[float | None], pair: tuple[int, int]) -> Row:
    """A time of which less is better, as a ratio."""
    unit = formats.unit_of(values)
    texts = tuple(formats.latency(value, unit) for value in values)
    a, b = (values[lane] for lane in pair)
    if pair[0] == pair[1] or not a or not b:
        return Row(label, texts)
    times = formats.ratio(max(a, b), min(a, b))
    if times == "1.0x":
        return Row(label, texts, "the same")
    return Row(label, texts, f"{times} {'slower' if b > a else 'faster'}", worse=b > a)


def _notes(scene: Scene, base: int, other: int) -> list[tuple[str, str]]:
    notes = []
    frames, names = scene.frames, scene.lanes
    if scene.run is Run.ENDED and base != other and all(map(whole, frames)):
        slow, fast = sorted((base, other), key=lambda lane: -frames[lane].time_s)
        if text := _gpus(frames[slow], frames[fast], names[slow].name, names[fast].name):
            notes.append(("In GPUs", text))
    heading = scene.heading
    if not all(comparable(scene, lane) for lane in range(len(names))):
        notes.append(("Clocks", "what is simulated and what is measured keep different ones: not compared."))
    if heading.slo:
        text = f"{heading.slo}; a rejected request keeps none, one that waits too long has broken one."
        notes.append(("Limits", text))
    if heading.tpot_error and heading.ttft_error:
        text = f"predicted; where others measured, {TPOT.name} was off by {heading.tpot_error}"
        elsewhere = f"; none of them was on {heading.unmeasured}" if heading.unmeasured else ""
        notes.append(("Times", f"{text}, {TTFT.name} by {heading.ttft_error}{elsewhere}."))
    region = names[base].region_blocks
    if region and names[other].manager == "paged":
        slots = region * names[base].block_size
        count = names[base].pool_tokens // slots
        text = f"if prompts alone fill their {slots:,} slots: then each holds {count} requests at once."
        notes.append(("No gain", text))
    if heading.pool_note:
        notes.append(("Memory", f"the size of the KV pools is {heading.pool_note}."))
    return notes


def _gpus(slow: Frame, fast: Frame, slow_name: str, fast_name: str) -> str:
    """How many GPUs the slower lane needs to be as quick, if GPUs add up (derived, and said to be)."""
    times = slow.time_s / max(fast.time_s, 1e-9)
    if times < 1.05:
        return ""
    return f"{slow_name} needs {ceil(times)} to finish as soon as one {fast_name} GPU ({times:.2f}, derived)"
