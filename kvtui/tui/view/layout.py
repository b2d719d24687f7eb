"""Where everything stands, for every size of terminal. Cells from the top left; nothing overlaps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from kvtui.tui.view.canvas import Rect

MIN_WIDTH, MIN_HEIGHT = 60, 16
_PANEL = 6  # rows that a lower panel needs to be of use
_TICKER = 2  # rows that the newest events need, where there is no room for a panel
_BESIDE = 44  # cells right of the lanes that panels can use
_HALVES = 100  # cells from which two of them stand side by side


class Column(NamedTuple):
    """A stretch of columns: the first, and how many."""

    x: int
    width: int


class Form(Enum):
    """The ways a lane is drawn: width, and the grid's place and room."""

    LINE = "60x8"
    MINI = "40x10"
    SMALL = "40x18"
    TALL = "40x28"
    TALLER = "40x48"
    MEDIUM = "60x21"
    LARGE = "67x52"


GRID = {  # x, y, room across, rows
    Form.LINE: Rect(27, 1, 32, 5),
    Form.MINI: Rect(1, 4, 32, 4),
    Form.SMALL: Rect(1, 4, 32, 10),
    Form.TALL: Rect(1, 4, 32, 20),
    Form.TALLER: Rect(1, 4, 32, 40),
    Form.MEDIUM: Rect(2, 1, 32, 20),
    Form.LARGE: Rect(2, 8, 64, 40),
}


_NARROW_FORMS = (Form.TALLER, Form.TALL)


@dataclass(frozen=True)
class Plan:
    """Rectangles of the parts. `slot` is shared by the panels of `cycle`, which one key turns."""

    form: Form
    margin: int
    lanes: tuple[Rect, ...]
    caption: Rect
    slot: Rect
    cycle: tuple[str, ...]
    width: int
    height: int
    fixed: dict[str, Rect] = field(default_factory=dict)  # panels that are always open
    floor: int | None = None  # where the lanes end while the slot is a drawer drawn over them

    @property
    def inspector(self) -> Rect:
        """Where the inspector opens, over panels and, where there is no other room, over lanes."""
        match self.form:
            case Form.LARGE:
                top, events = self.fixed["figures"].y, self.slot
                return Rect(events.x, top, events.width, events.y - 1 - top)
            case Form.MEDIUM:
                top = self.caption.bottom + 1
                if self.timeline.y - top > _PANEL:
                    return Rect(0, top, self.width, self.timeline.y - top)
                return Rect(0, 12, self.width, self.caption.y - 13)
            case _:
                return Rect(0, 1, self.width, self.caption.y - 1)

    @property
    def covers(self) -> bool:
        """Whether an open inspector lies over lanes."""
        return any(overlap(self.inspector, lane) for lane in self.lanes)

    @property
    def header(self) -> Rect:
        return Rect(0, 0, self.width, 1)

    @property
    def timeline(self) -> Rect:
        return Rect(0, self.height - 2, self.width, 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Room for a caption under each lane, from the left margin on; none where lanes stand stacked."""
        if self.form in (Form.LINE, Form.MINI):
            return ()
        return tuple(Column(lane.x, lane.width - 2 * self.margin - 1) for lane in self.lanes)

    @property
    def footer(self) -> Rect:
        return Rect(0, self.height - 1, self.width, 1)


def overlap(one: Rect, other: Rect) -> bool:
    """Whether two rectangles share a cell."""
    beside = one.right <= other.x or other.right <= one.x
    return not beside and one.y < other.bottom and other.y < one.bottom


_LISTS = ("events", "waiting", "running", "figures", "cache")
_DRAWER = ("", "chart", *_LISTS)  # "" is the drawer shut


def plan_for(
    width: int, height: int, *, lanes: int, device: bool = False, requests: bool = True
) -> Plan | None:
    """The plan for a terminal of that size; None when it is too small for any. With a `device`, two panels
    more take their turn; where nothing is told of `requests`, no panel of them is always open."""
    plan = _plan_for(width, height, lanes)
    if plan is None:
        return None
    if not requests:
        plan = _without(plan, "queues", "events")
    if not device:
        return plan
    return replace(_without(plan, "events"), cycle=(*(plan.cycle or ("events",)), "times", "device"))


def _without(plan: Plan, *names: str) -> Plan:
    """The same without panels that are always open."""
    return replace(plan, fixed={name: rect for name, rect in plan.fixed.items() if name not in names})


def _plan_for(width: int, height: int, lanes: int) -> Plan | None:
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return None
    if width >= 67 * lanes + 66 and height >= 60:
        return _large(width, height, lanes)
    if width >= max(120, 60 * lanes) and height >= 29:
        return _medium(width, height, lanes)
    if width >= max(80, 40 * lanes) and height >= 24:
        return _small(width, height, lanes)
    return _stacked(width, height, lanes)


def _row(count: int, y: int, width: int, height: int) -> tuple[Rect, ...]:
    return tuple(Rect(at * width, y, width, height) for at in range(count))


def _large(width: int, height: int, lanes: int) -> Plan:
    """Grids at the left, and right of them a column of panels that are all open."""
    x = 67 * lanes + 2
    room = width - x - 2
    events = Rect(x, height - 14, room, 11)
    half, queues = room // 2, 24 if room >= _HALVES else 31
    figures = Rect(x, 16, half if room >= _HALVES else room, _PANEL + 1)
    cache = Rect(x + half, 16, room - half, _PANEL) if room >= _HALVES else Rect(x, 24, room, _PANEL)
    fixed = {
        "chart": Rect(x, 2, room, 13),
        "figures": figures,
        "cache": cache,
        "queues": Rect(x, queues, room, events.y - 1 - queues),
        "events": events,
    }
    caption = Rect(0, 55, 67 * lanes, 2)
    return Plan(Form.LARGE, 2, _row(lanes, 2, 67, 52), caption, events, (), width, height, fixed)


def _medium(width: int, height: int, lanes: int) -> Plan:
    """Two panels under the lanes; without the rows for them, one at a time as a drawer. What width there is
    beside the lanes is used for more of them."""
    cards, caption = _row(lanes, 2, 60, 21), Rect(0, 24, width, 2)
    x, room, below = 60 * lanes, width - 60 * lanes, Rect(0, 27, width, height - 30)
    beside = room >= _BESIDE
    if height < 36:
        if beside:
            chart, slot = Rect(x, 2, room, 10), Rect(x, 13, room, 10)
            fixed = {"chart": chart} | _ticker(below)
            return Plan(Form.MEDIUM, 2, cards, caption, slot, _lists(fixed), width, height, fixed)
        slot, fixed = Rect(0, 18, width, height - 20), _ticker(below)
        return Plan(Form.MEDIUM, 2, cards, caption, slot, _DRAWER, width, height, fixed, floor=17)
    slot = Rect(60, 27, width - 60, height - 30)
    fixed = {"chart": Rect(0, 27, 60, height - 30)}
    if beside:
        fixed |= {"figures": Rect(x, 2, room, _PANEL + 1), "queues": Rect(x, 10, room, 13)}
    cycle = ("events", "cache") if beside else _LISTS
    return Plan(Form.MEDIUM, 2, cards, caption, slot, cycle, width, height, fixed)


def _small(width: int, height: int, lanes: int) -> Plan:
    """Narrow cards, as tall as leaves room for panels right of them or below; else one panel at a time as a
    drawer."""
    left = 40 * lanes
    beside = width - left >= 40
    form = next(
        (form for form in _NARROW_FORMS if height >= GRID[form].height + (15 if beside else 16 + _PANEL)),
        Form.SMALL,
    )
    tall = GRID[form].height + 8
    cards, caption = _row(lanes, 1, 40, tall), Rect(0, tall + 2, width, 2)
    if beside:
        chart = min(13, tall // 2)
        fixed = {"chart": Rect(left, 1, width - left, chart)}
        slot = Rect(left, chart + 2, width - left, tall - chart - 1)
        return Plan(form, 1, cards, caption, slot, _LISTS, width, height, fixed)
    if height >= tall + 8 + _PANEL:
        slot = Rect(0, tall + 5, width, height - tall - 8)
        return Plan(form, 1, cards, caption, slot, _DRAWER[1:], width, height)
    slot, fixed = Rect(0, 15, width, height - 17), _ticker(Rect(0, tall + 5, width, height - tall - 8))
    return Plan(form, 1, cards, caption, slot, _DRAWER, width, height, fixed, floor=15)


def _paired(width: int, height: int, lanes: int) -> Plan | None:
    """Two lanes in a row, each ten rows high, where they have no room one above the other."""
    rows = -(-lanes // 2)
    if width < 80 or height < 10 * rows + 4:
        return None
    cards = tuple(Rect(40 * (at % 2), 1 + 10 * (at // 2), 40, 10) for at in range(lanes))
    caption, slot = Rect(0, height - 3, width, 1), Rect(0, 11, width, height - 14)
    return Plan(Form.MINI, 1, cards, caption, slot, _DRAWER, width, height, floor=11)


def _ticker(room: Rect) -> dict[str, Rect]:
    """The newest events in rows that would else be blank."""
    return {"events": room} if room.height >= _TICKER else {}


def _lists(fixed: dict[str, Rect]) -> tuple[str, ...]:
    """The lists that are not open already."""
    return tuple(name for name in _LISTS if name not in fixed)


def _stacked(width: int, height: int, lanes: int) -> Plan | None:
    """Lanes one above the other; as many as have room, six to eight rows each."""
    room = height - 4  # header, caption, timeline, footer
    if room < 6 * lanes:
        return _paired(width, height, lanes)
    tall = min(8, room // lanes)
    cards = tuple(Rect(0, 1 + at * tall, width, tall) for at in range(lanes))
    caption = Rect(0, height - 3, width, 1)
    below = 2 + tall * lanes
    fixed = _ticker(Rect(0, below, width, caption.y - 1 - below))
    slot = Rect(0, 1, width, height - 4)
    return Plan(Form.LINE, 1, cards, caption, slot, _DRAWER, width, height, fixed, floor=1)
