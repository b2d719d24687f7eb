"""The summary page: the verdict in a sentence, the two mean batches, and what else came out."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from kvtui.frame import Counters, Frame
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line
from kvtui.tui.view.captions import NO_GAIN, Situation, caption
from kvtui.tui.view.digits import SMALL, WIDE, digits
from kvtui.tui.view.ink import BOLD, RULE, T1, T2, T3, WARN, Ink, lane_ink
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene, compared, titles

_WIDTH = 92
_ROWS = 60


def summary_lines(scene: Scene, look: Look, *, width: int) -> tuple[Line, ...]:
    """The whole page, centred; as many lines as it takes."""
    inner = min(_WIDTH, width - 4)
    x = (width - inner) // 2
    canvas = Canvas(width, _ROWS)
    page = _Page(canvas, scene, look, x, inner)
    y = page.verdict(0)
    y = page.means(y + (2 if inner >= _WIDTH else 1))
    y = page.table(y + 1)
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
        self.base, self.other = compared(scene)
        self.pair = tuple(dict.fromkeys((self.base, self.other)))

    @property
    def right(self) -> int:
        return self.x + self.width

    def verdict(self, y: int) -> int:
        """What was run, and what came of it."""
        end = self.canvas.put(self.x, y, "Summary", BOLD)
        self.canvas.put(end + 2, y, _subject(self.scene), T3)
        y += 3 if self.width >= _WIDTH else 2
        ended = self.scene.run is Run.ENDED
        lines = (
            caption(self.scene, Situation("end"), width=self.width, rows=2)[:1]
            if ended
            else (((f"So far, at {formats.clock(self.scene.time_s)}; the run goes on.", T2),),)
        )
        for line in lines:
            self.canvas.put_line(self.x, y, line)
            y += 1
        if ended and (why := _why(self.scene, self.base, self.other)):
            self.canvas.put(self.x, y, why, T2)
            y += 1
        return y

    def means(self, y: int) -> int:
        """The mean batch of each lane in large figures."""
        face, step = (WIDE, 44) if self.width >= _WIDTH else (SMALL, self.width // 2)
        for place, lane in enumerate(self.pair):
            x = self.x + place * step
            end = self.canvas.put(x, y, titles(self.scene.lanes)[lane], lane_ink(lane, bold=True))
            self.canvas.put(end + 2, y, "mean batch", T3)
            mean = self.scene.frames[lane].counters.batch_mean
            rows = digits(formats.mean(mean), face, ascii=self.look.ascii)
            for row, text in enumerate(rows):
                self.canvas.put(x, y + 2 + row, text, lane_ink(lane, bold=self.look.ascii))
            times = formats.ratio(mean, self.scene.frames[self.base].counters.batch_mean)
            if lane != self.base and times:
                pill = Ink("inv", lane_ink(lane).fg, bold=True)
                self.canvas.put(x + len(rows[0]) + 3, y + 2, f" {times} ", pill)
        return y + 2 + len(rows)

    def table(self, y: int) -> int:
        """Figures lane by lane, and what the difference is worth; what got worse in amber."""
        third = 18 if self.width >= _WIDTH else 14
        words_at = self.right if self.width >= 76 else 0
        ends = [self.right - (24 if words_at else 0) - third * at for at in reversed(range(len(self.pair)))]
        for end, lane in zip(ends, self.pair, strict=True):
            self.canvas.put_right(end, y, self.scene.lanes[lane].name, lane_ink(lane))
        if words_at and len(self.pair) > 1:
            self.canvas.put_right(words_at, y, f"{self.scene.lanes[self.other].name} is", T3)
        self.canvas.put(self.x, y + 1, "─" * self.width, RULE)
        y += 2
        for row in _rows([self.scene.frames[lane].counters for lane in self.pair]):
            self.canvas.put(self.x, y, row.label, T2)
            for at, (end, value) in enumerate(zip(ends, row.values, strict=True)):
                self.canvas.put_right(end, y, value, BOLD if at else T1)
            if words_at:
                self.canvas.put_right(words_at, y, row.words, WARN if row.worse else T3)
            y += 1
        return y

    def notes(self, y: int) -> int:
        """What the difference is worth, and when there would be none."""
        for title, text in _notes(self.scene, self.base, self.other):
            self.canvas.put(self.x, y, title, BOLD)
            self.canvas.put(self.x + 12, y, text, T2)
            y += 1
        return y


def _subject(scene: Scene) -> str:
    heading = scene.heading
    lane = scene.lanes[0]
    pool = formats.memory(lane.pool_bytes) if lane.pool_bytes else f"{lane.pool_tokens:,} slots"
    seed = f", seed {heading.seed}" if heading.seed is not None else ""
    return f"{heading.requests:,} requests{seed}, the same {pool} of KV memory in each lane, {heading.label}"


def _why(scene: Scene, base: int, other: int) -> str:
    """What the means say about the two lanes."""
    a, b = scene.frames[base].counters.batch_mean, scene.frames[other].counters.batch_mean
    if base == other:
        return ""
    if a and b >= NO_GAIN * a and scene.lanes[base].region_blocks and not scene.lanes[other].region_blocks:
        return "It held more requests at once because it kept memory only for tokens that exist."
    if a and b < NO_GAIN * a and a < NO_GAIN * b:
        return (
            "Both held about the same number of requests at once: on this traffic it does not matter which."
        )
    return ""


def _rows(lanes: list[Counters]) -> list[Row]:
    ttft, e2e, tpot = ([getattr(c, name) for c in lanes] for name in ("ttft", "e2e", "tpot"))
    return [
        _more("tokens a second", [c.output_tokens_per_s for c in lanes], "higher", "lower", formats.count),
        _more("largest batch", [c.batch_peak for c in lanes], "larger", "smaller", formats.count),
        _pair("first token, p50 / p99", [(p.p50, p.p99) for p in ttft]),
        _pair("whole request, p50 / p99", [(p.p50, p.p99) for p in e2e]),
        _slower("each next token, mean", [p.mean for p in tpot]),
        Row("preempted", tuple(formats.count(c.preemptions) for c in lanes)),
        Row("finished", tuple(formats.count(c.finished) for c in lanes)),
        *_if_any("rejected", [c.rejected for c in lanes]),
        *_if_any("unfinished", [c.unfinished for c in lanes]),
    ]


def _if_any(label: str, values: list[int]) -> list[Row]:
    return [Row(label, tuple(map(formats.count, values)))] if any(values) else []


def _more(label: str, values: list[float], up: str, down: str, form: Callable[[float], str]) -> Row:
    """A figure of which more is better."""
    texts = tuple(form(value) for value in values)
    if len(values) < 2 or min(values) <= 0:
        return Row(label, texts)
    a, b = values[0], values[-1]
    times = formats.ratio(max(a, b), min(a, b))
    if times == "1.0x":
        return Row(label, texts, "the same")
    return Row(label, texts, f"{times} {up if b > a else down}", worse=b < a)


def _pair(label: str, values: list[tuple[float | None, float | None]]) -> Row:
    """Two percentiles a lane; the difference is that of the first, the median."""
    unit = formats.unit_of([value for pair in values for value in pair])
    texts = tuple(_two(pair, unit) for pair in values)
    medians = [pair[0] for pair in values]
    if len(values) < 2 or medians[0] is None or medians[-1] is None:
        return Row(label, texts)
    sooner = medians[0] - medians[-1]
    text = formats.latency(abs(sooner), unit)
    if text in ("0.0 s", "0 ms"):
        return Row(label, texts, "the same")
    return Row(label, texts, f"{text} {'sooner' if sooner > 0 else 'later'}", worse=sooner < 0)


def _two(pair: tuple[float | None, float | None], unit: str) -> str:
    first, second = (formats.latency(value, unit) for value in pair)
    same_unit = first.endswith(f" {unit}") and second.endswith(f" {unit}")
    return f"{first.removesuffix(f' {unit}') if same_unit else first} / {second}"


def _slower(label: str, values: list[float | None]) -> Row:
    """A time of which less is better, as a ratio."""
    unit = formats.unit_of(values)
    texts = tuple(formats.latency(value, unit) for value in values)
    if len(values) < 2 or not values[0] or not values[-1]:
        return Row(label, texts)
    a, b = values[0], values[-1]
    times = formats.ratio(max(a, b), min(a, b))
    if times == "1.0x":
        return Row(label, texts, "the same")
    return Row(label, texts, f"{times} {'slower' if b > a else 'faster'}", worse=b > a)


def _notes(scene: Scene, base: int, other: int) -> list[tuple[str, str]]:
    notes = []
    frames, names = scene.frames, scene.lanes
    if scene.run is Run.ENDED and base != other:
        slow, fast = sorted((base, other), key=lambda lane: -frames[lane].time_s)
        if text := _gpus(frames[slow], frames[fast], names[slow].name, names[fast].name):
            notes.append(("In GPUs", text))
    region = names[base].region_blocks
    if region and base != other and not names[other].region_blocks:
        slots = region * names[base].block_size
        count = names[base].pool_tokens // slots
        text = f"the prompts alone fill their {slots:,} slots: then both managers hold {count}."
        notes.append(("No gain if", text))
    return notes


def _gpus(slow: Frame, fast: Frame, slow_name: str, fast_name: str) -> str:
    """How many GPUs the slower lane needs to be as quick, if GPUs add up (derived, and said to be)."""
    times = slow.time_s / max(fast.time_s, 1e-9)
    if times < 1.05:
        return ""
    return f"{slow_name} needs {ceil(times)} to finish as soon as one {fast_name} GPU ({times:.2f}, derived)"
