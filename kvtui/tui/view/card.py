"""One lane, drawn in several forms. The grid has its own widget; a card leaves its place blank."""

from __future__ import annotations

import re
from collections.abc import Callable

from kvtui.terms import COST, FINISHED, MEAN_BATCH, PEAK_BATCH, PREEMPTED, RATE, REJECTED, SLO_KEPT, TTFT
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Rect, cut, text_width
from kvtui.tui.view.digits import SMALL, digits, fit
from kvtui.tui.view.ink import BAD, BOLD, HOT, T1, T2, T3, WARN, Ink, lane_ink
from kvtui.tui.view.layout import GRID, Form
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Scene, baseline, dollars, drained, slo_kept, unknown
from kvtui.tui.view.split import draw_bar, draw_columns, draw_list, draw_most, draw_row, parts_of

_NARROW = (Form.SMALL, Form.TALL, Form.TALLER)

# Where a form has text, in its own coordinates: the rest is grid or blank.
AREAS = {
    Form.LINE: (Rect(0, 0, 60, 1), Rect(0, 1, 26, 5), Rect(0, 6, 60, 1)),
    Form.MINI: (Rect(0, 0, 40, 4), Rect(0, 8, 40, 2)),
    **{form: (Rect(0, 0, 40, 4), Rect(0, 4 + GRID[form].height, 40, 4)) for form in _NARROW},
    Form.MEDIUM: (Rect(0, 0, 60, 1), Rect(36, 1, 24, 20)),
    Form.LARGE: (Rect(0, 0, 67, 8), Rect(0, 48, 67, 4)),
}
_SIZE = {
    Form.LINE: (60, 7),
    Form.MINI: (40, 10),
    **{form: (40, 8 + GRID[form].height) for form in _NARROW},
    Form.MEDIUM: (60, 21),
    Form.LARGE: (67, 52),
}

_TITLE = 20  # cells
_SHORTER = (  # what a lane is, where not all of it has room
    ("^simulated on ", "sim on "),
    (r"^(sim on [^,]*) \d+ GB,", r"\1,"),
    ("^sim on [^,]*, ", "sim, "),
    ("reserves its exact length", "exact length"),
    ("reserves powers of two", "powers of two"),
    ("no prefix cache", "no cache"),
    ("groups of layers", "groups"),
)
_RATE = 8  # cells for the name of the rate beside its number


def draw_card(scene: Scene, lane: int, form: Form, look: Look, *, place: str = "") -> Canvas:
    """The card of a lane with everything but the grid; `place` says what part of the pool that shows."""
    canvas = Canvas(*_SIZE[form])
    _DRAW[form](_Card(canvas, scene, lane, look, place))
    return canvas


class _Card:
    """What the forms have in common."""

    def __init__(self, canvas: Canvas, scene: Scene, lane: int, look: Look, place: str) -> None:
        self.canvas = canvas
        self.scene = scene
        self.lane = lane
        self.look = look
        self.info = scene.lanes[lane]
        self.place = place
        self.frame = scene.frames[lane]
        self.counters = self.frame.counters
        self.parts = parts_of(self.frame, self.info, lane, look)
        self.width = canvas.width
        self.word = scene.word

    def title(self, x: int, *, step: bool) -> None:
        focused = self.scene.focus == self.lane
        if focused:
            self.canvas.put(x - 2 if x > 1 else 0, 0, "▸", HOT)
        ink = lane_ink(self.lane, bold=True)._replace(underline=focused)
        end = self.canvas.put(x, 0, cut(self.info.title, _TITLE), ink)
        right = self.width - x
        if step and self.info.label != "live":
            text = self.scene.phrase(f"step {self.frame.step:,}")
            right = self.canvas.put_right(self.width - 1, 0, text, T3)
        failure = self.scene.failure(self.lane)
        text, ink = (
            (f"stopped: {failure}", BAD)
            if failure
            else (self.place or self.scene.phrase(self.info.subtitle), T3)
        )
        if self.stale:
            live = self.info.label == "live"
            text, ink = (self.stale, BAD) if live else (f"{self.info.label}, {self.stale}", WARN)
        room = right - end - 3
        for pattern, less in _SHORTER:
            text = re.sub(pattern, less, text) if text_width(text) > room else text
        self.canvas.put(end + 2, 0, cut(text, room), ink)

    @property
    def stale(self) -> str:
        """How old the figures of a real server are, or of a lane beside it, where they are."""
        if not self.scene.snapshots:
            return ""
        from kvtui.live.report import stale

        return stale(self.scene.snapshots[self.lane])

    def digits(self, x: int, y: int, *, width: int | None = None) -> int:
        """The batch size in large figures; gives the column behind them."""
        if self.counters.running is None:
            return self.canvas.put(x, y + 1, formats.NA, T3)
        text = str(self.counters.running)
        rows = digits(text, SMALL if width is None else fit(text, width), ascii=self.look.ascii)
        if width is not None and self.look.ascii:
            y += 1
        for row, line in enumerate(rows):
            self.canvas.put(x, y + row, line, lane_ink(self.lane, bold=self.look.ascii))
        return x + len(rows[0])

    @property
    def ratio(self) -> str | None:
        """How many times the batch of its baseline runs here, as long as both have requests to let in."""
        base = baseline(self.scene, self.lane)
        if (
            self.lane == base
            or self.info.label == "live"
            or self.stale
            or self.scene.ahead(self.lane)
            or drained(self.scene, base)
            or drained(self.scene, self.lane)
        ):
            return None
        return formats.ratio(self.counters.running, self.scene.frames[base].counters.running or 0)

    @property
    def words(self) -> str:
        """What the large figure counts."""
        if self.scene.ahead(self.lane):
            return f"{self.word('forks at')} {formats.clock(self.info.since_s)}"
        if self.frame.done:
            how = "cut at" if self.counters.unfinished else "done at"
            return f"{self.word(how)} {formats.clock(self.frame.time_s)}"
        return self.word("running at once")

    @property
    def against(self) -> tuple[str, Ink]:
        """The ratio to the baseline as a pill; of the first lane by another clock, that it has its own."""
        if self.ratio:
            return f" {self.ratio} ", Ink("inv", lane_ink(self.lane).fg, bold=True)
        own = self.lane and baseline(self.scene, self.lane) == self.lane
        return self.word("own clock") if own else "", T3

    def pill(self, x: int, y: int) -> None:
        self.canvas.put(x, y, *self.against)

    def peak(self, x: int, y: int, *, gap: int) -> int:
        peak, mean = formats.count(self.counters.batch_peak), formats.mean(self.counters.batch_mean)
        x = self.canvas.put(x, y, f"{self.word(PEAK_BATCH.brief)} {peak}", T3) + gap
        return self.canvas.put(x, y, f"{self.word(MEAN_BATCH.brief)} {mean}", T3)

    def kept(self, x: int, end: int, y: int) -> None:
        """How many keep the limits, where any are set."""
        if text := slo_kept(self.scene, self.lane):
            self.figure(x, end, y, SLO_KEPT.name, text)

    def cost(self, x: int, end: int, y: int) -> None:
        """Dollars of a million tokens, where there is a price."""
        if text := dollars(self.scene, self.lane):
            self.figure(x, end, y, COST.name, text)

    def bar(self, x: int, y: int, width: int, glyph: str) -> None:
        """Where colours are few or none, every part has the shape that it has in the grid."""
        if not self.look.ascii:
            shape = glyph if self.look.palette.wells else None
            draw_bar(self.canvas, x, y, self.parts, width=width, glyph=shape)

    def figure(self, x: int, end: int, y: int, label: str, value: str, ink: Ink = T1) -> None:
        self.canvas.put(x, y, self.word(label), T3)
        self.canvas.put_right(end, y, value, ink)

    def latency(self, name: str, attribute: str) -> tuple[str, Ink]:
        """A percentile, in the unit that fits this row in all lanes."""
        values = [getattr(getattr(frame.counters, name), attribute) for frame in self.scene.frames]
        mine = values[self.lane]
        return formats.latency(mine, formats.unit_of(values)), unknown(mine, T1)

    def counted(self, x: int, y: int, pairs: tuple[tuple[str, str], ...]) -> None:
        """Label and number, one after the other in a row."""
        for label, value in pairs:
            x = self.canvas.put(x, y, self.word(label) + " ", T3)
            x = self.canvas.put(x, y, value, T1) + 2


def _line(card: _Card) -> None:
    card.title(1, step=False)
    x = card.digits(1, 1)
    card.pill(x + 2, 2)
    card.canvas.put(1, 4, card.words, T2)
    counters = card.counters
    waiting, done = formats.count(counters.waiting, width=5), formats.count(counters.finished, width=5)
    card.counted(1, 5, (("waiting", f"{waiting:>3}"), (FINISHED.brief, done)))
    draw_row(card.canvas, 1, 6, card.parts, width=card.width - 2)


def _small(card: _Card) -> None:
    _narrow_head(card)
    below = card.canvas.height - 4
    card.bar(1, below, 32, "━")
    draw_columns(card.canvas, 1, below + 1, card.parts, width=card.width - 2, short=True)
    _narrow_counts(card, below + 3)


def _mini(card: _Card) -> None:
    """Without a bar, and of where memory is only what matters most."""
    _narrow_head(card)
    draw_most(card.canvas, 1, 8, card.parts, width=card.width - 2)
    _narrow_counts(card, 9)


def _narrow_head(card: _Card) -> None:
    """Name, and the batch beside its digits."""
    card.title(1, step=False)
    x = max(card.digits(1, 1) + 2, 12)
    end = card.canvas.put(x, 1, card.words, T2)
    card.pill(end + 1, 1)
    end = card.peak(x, 2, gap=2) + 2
    kept = slo_kept(card.scene, card.lane, whole=True)
    if kept and end + text_width(f"{SLO_KEPT.brief} {kept}") < card.width:
        card.counted(end, 2, ((SLO_KEPT.brief, kept),))


def _narrow_counts(card: _Card, y: int) -> None:
    counters = card.counters
    waiting, done = formats.count(counters.waiting, width=5), formats.count(counters.finished, width=5)
    rate = formats.count(counters.output_tokens_per_s, width=5)
    pairs = (("waiting", f"{waiting:>3}"), (FINISHED.brief, f"{done:>3}"), (RATE.brief, f"{rate:>5}"))
    card.counted(1, y, pairs)


def _medium(card: _Card) -> None:
    x, end = 37, 59
    card.title(2, step=True)
    card.digits(x, 1, width=end - x)
    card.canvas.put(x, 7, card.words, T2)
    card.canvas.put_right(end, 7, *card.against)
    card.peak(x, 8, gap=3)
    card.bar(x, 10, end - x, "▀")
    draw_list(card.canvas, x, 11, card.parts, width=end - x)
    counters = card.counters
    free = 16  # row by row upwards, to the end of the list above
    if counters.rejected:
        card.figure(x, end, free, REJECTED.name, formats.count(counters.rejected), BAD)
        free -= 1
    if slo_kept(card.scene, card.lane):
        card.kept(x, end, free)
        free -= 1
    if free >= 15:
        card.cost(x, end, free)
    card.figure(x, end, 17, "waiting", formats.count(counters.waiting))
    card.figure(x, end, 18, FINISHED.name, formats.count(counters.finished))
    card.figure(x, end, 19, RATE.name, formats.count(counters.output_tokens_per_s))
    card.figure(x, end, 20, f"{TTFT.name} p50", *card.latency("ttft", "p50"))


def _large(card: _Card) -> None:
    card.title(2, step=True)
    x = max(card.digits(2, 2, width=14) + 2, 20)
    end = card.canvas.put(x, 2, card.words, BOLD)
    card.pill(end + 2, 2)
    card.peak(x, 3, gap=3)
    counters = card.counters
    preempted = WARN if counters.preemptions else T1
    card.figure(x, x + 13, 5, "waiting", formats.count(counters.waiting, width=5))
    card.figure(x, x + 13, 6, FINISHED.name, formats.count(counters.finished, width=5))
    card.figure(x + 15, x + 29, 5, PREEMPTED.name, formats.count(counters.preemptions, width=5), preempted)
    rate = RATE.name if text_width(card.word(RATE.name)) <= _RATE else RATE.brief
    card.figure(x + 15, x + 29, 6, rate, formats.count(counters.output_tokens_per_s, width=5))
    card.figure(x + 31, x + 46, 5, f"{TTFT.name} p50", *card.latency("ttft", "p50"))
    card.figure(x + 31, x + 46, 6, f"{TTFT.name} p99", *card.latency("ttft", "p99"))
    card.cost(x + 15, x + 29, 4)
    card.kept(x + 31, x + 46, 4)
    card.bar(2, 49, 64, "▀")
    draw_columns(card.canvas, 2, 50, card.parts, width=card.width - 4, short=False)


_DRAW: dict[Form, Callable[[_Card], None]] = {
    Form.LINE: _line,
    Form.MINI: _mini,
    **dict.fromkeys(_NARROW, _small),
    Form.MEDIUM: _medium,
    Form.LARGE: _large,
}
