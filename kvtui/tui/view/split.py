"""Where KV memory is: parts that add up to 100 %, as a bar and as a list that is its legend."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.terms import CACHED, ENDS, FREE, HOLES, LATER, NEVER, STORED, WASTE, Term
from kvtui.tui.view.canvas import Canvas, text_width
from kvtui.tui.view.cells import Kind, code
from kvtui.tui.view.formats import bar, shares
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.ink import T1, T2, T3, WARN_BOLD, Ink, lane_ink
from kvtui.tui.view.palette import Look
from kvtui.tui.view.words import word

MATTERS = 3.0  # per cent from which waste is worth the one amber number of a card


@dataclass(frozen=True)
class Part:
    label: str
    short: str
    glyph: str
    ink: Ink
    percent: float
    waste: bool = False


def parts_of(frame: Frame, info: LaneInfo, lane: int, look: Look) -> tuple[Part, ...]:
    """The parts of a lane's memory in fixed order; what its manager cannot have is left out."""
    split = frame.counters.split
    if info.label == "live":
        return _published(frame, lane, look)
    if split.free is None:  # of a lane that has yet to branch off
        return ()
    contiguous = info.region_blocks is not None
    free, _ = glyph(code(Kind.FREE), look)
    known = (
        (True, _part(STORED, "█", lane_ink(lane), split.stored)),
        (contiguous, _part(LATER, "▒", T3, split.reserved)),
        (contiguous, _part(NEVER, "░", Ink("warn"), split.internal)),
        (not contiguous, _part(ENDS, "▌", Ink("warn"), split.tail)),
        (
            contiguous and not split.free,
            _part(HOLES, "╱", Ink("hole"), split.external),
        ),
        (False, _part(CACHED, "▚", T3, split.cached)),
        (not contiguous, _part(FREE, free, Ink("ghost"), split.free)),
    )
    return tuple(_named(part, look) for always, part in known if always or part.percent > 0)


def _part(term: Term, glyph: str, ink: Ink, percent: float) -> Part:
    return Part(term.name, term.brief, glyph, ink, percent, waste=term in WASTE)


def _published(frame: Frame, lane: int, look: Look) -> tuple[Part, ...]:
    """What a real server tells of its memory, which may be nothing."""
    stored, reserved, *_, cached, free = frame.counters.split
    if stored is None:
        return ()
    ghost, _ = glyph(code(Kind.FREE), look)
    rest = "free" if cached is not None else "free or cached"
    known = (
        Part("in use", "in use", "█", lane_ink(lane), stored),
        Part("held, empty", "empty", "▒", T3, reserved or 0.0),
        Part("cached", "cached", "▚", T3, cached or 0.0),
        Part(rest, "free", ghost, Ink("ghost"), free),
    )
    return tuple(_named(part, look) for part in known if part.percent > 0 or part.label == "in use")


def _named(part: Part, look: Look) -> Part:
    """The same in the language of the screen."""
    return replace(part, label=word(part.label, look.language), short=word(part.short, look.language))


def amber(parts: tuple[Part, ...]) -> Part | None:
    """The part whose number is the one in amber: the largest waste, if it matters."""
    worst = max((part for part in parts if part.waste), key=lambda part: part.percent, default=None)
    return worst if worst is not None and worst.percent >= MATTERS else None


def value_ink(part: Part, parts: tuple[Part, ...]) -> Ink:
    return WARN_BOLD if part is amber(parts) else T1


def draw_bar(
    canvas: Canvas, x: int, y: int, parts: tuple[Part, ...], *, width: int, glyph: str | None
) -> None:
    """All of memory in a row: of one `glyph`, or where that is None each part of its own."""
    cells = bar([part.percent for part in parts], width=width)
    for part, length in zip(parts, cells, strict=True):
        x = canvas.put(x, y, (glyph or part.glyph) * length, part.ink)


def draw_list(canvas: Canvas, x: int, y: int, parts: tuple[Part, ...], *, width: int) -> int:
    """One part a row, label left and per cent right; gives the row below."""
    for part, text in zip(parts, shares([part.percent for part in parts], whole=False), strict=True):
        _swatch(canvas, x, y, part)
        canvas.put(x + 2, y, part.label, T2)
        canvas.put_right(x + width, y, text, value_ink(part, parts))
        y += 1
    return y


def draw_columns(canvas: Canvas, x: int, y: int, parts: tuple[Part, ...], *, width: int, short: bool) -> None:
    """Labels in one row, their per cents under them."""
    texts = shares([part.percent for part in parts], whole=short)
    labels = [part.short if short else part.label for part in parts]
    starts = _starts(labels, width, gap=2 if short else 4, field=8 if short else 0)
    for part, label, text, start in zip(parts, labels, texts, starts, strict=True):
        _swatch(canvas, x + start, y, part)
        canvas.put(x + start + 2, y, label, T3)
        canvas.put(x + start + 2, y + 1, text, value_ink(part, parts))


def draw_row(canvas: Canvas, x: int, y: int, parts: tuple[Part, ...], *, width: int) -> None:
    """Labels and per cents in a single row."""
    texts = shares([part.percent for part in parts], whole=True)
    length = sum(text_width(part.short) + 6 for part in parts)
    gap = 3 if length + 3 * (len(parts) - 1) <= width else 1
    for part, text in zip(parts, texts, strict=True):
        _swatch(canvas, x, y, part)
        x = canvas.put(x + 2, y, part.short + " ", T3)
        canvas.put(x, y, text, value_ink(part, parts))
        x += 3 + gap


def draw_most(canvas: Canvas, x: int, y: int, parts: tuple[Part, ...], *, width: int) -> None:
    """As many of the parts as a row has room for: what is stored, then the largest; in their usual order."""
    texts = shares([part.percent for part in parts], whole=True)
    wanted = sorted(range(len(parts)), key=lambda at: (at > 0, -parts[at].percent))
    taken: list[int] = []
    for at in wanted:
        cells = sum(text_width(parts[each].short) + 7 for each in (*taken, at))
        if cells - 1 <= width:
            taken.append(at)
    for at in sorted(taken):
        _swatch(canvas, x, y, parts[at])
        x = canvas.put(x + 2, y, parts[at].short + " ", T3)
        x = canvas.put(x, y, f"{texts[at]:<4}", value_ink(parts[at], parts))


def _starts(labels: list[str], width: int, *, gap: int, field: int) -> list[int]:
    """Columns of the swatches, as wide apart as fits."""
    fields = [max(text_width(label) + 2, field) for label in labels]
    while gap > 1 and sum(fields) + gap * (len(fields) - 1) > width:
        gap -= 1
        fields = [text_width(label) + 2 for label in labels]
    starts, at = [], 0
    for taken in fields:
        starts.append(at)
        at += taken + gap
    return starts


def _swatch(canvas: Canvas, x: int, y: int, part: Part) -> None:
    ink = part.ink.on("well") if part.glyph != " " else Ink("t3", "well")
    canvas.put(x, y, part.glyph, ink)
