"""Where everything stands, for every size of terminal. Cells from the top left; nothing overlaps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from kvtui.tui.view.canvas import Rect

MIN_WIDTH, MIN_HEIGHT = 60, 16
_PANEL = 6  # rows that a lower panel needs to be of use


class Form(Enum):
    """The four ways a lane is drawn: width, and the grid's place and room."""

    LINE = "60x8"
    SMALL = "40x18"
    MEDIUM = "60x21"
    LARGE = "67x52"


GRID = {  # x, y, room across, rows
    Form.LINE: Rect(27, 1, 32, 5),
    Form.SMALL: Rect(1, 4, 32, 10),
    Form.MEDIUM: Rect(2, 1, 32, 20),
    Form.LARGE: Rect(2, 8, 64, 40),
}


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
    def header(self) -> Rect:
        return Rect(0, 0, self.width, 1)

    @property
    def timeline(self) -> Rect:
        return Rect(0, self.height - 2, self.width, 1)

    @property
    def footer(self) -> Rect:
        return Rect(0, self.height - 1, self.width, 1)


_LISTS = ("events", "waiting", "running", "figures")
_DRAWER = ("", "chart", *_LISTS)  # "" is the drawer shut


def plan_for(width: int, height: int, *, lanes: int, device: bool = False) -> Plan | None:
    """The plan for a terminal of that size; None when it is too small for any. With a `device`, one panel
    more takes its turn."""
    plan = _plan_for(width, height, lanes)
    if plan is None or not device:
        return plan
    fixed = {name: rect for name, rect in plan.fixed.items() if name != "events"}
    return replace(plan, cycle=(*(plan.cycle or ("events",)), "device"), fixed=fixed)


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
    fixed = {
        "chart": Rect(x, 2, room, 13),
        "figures": Rect(x, 16, room, _PANEL),
        "queues": Rect(x, 23, room, events.y - 24),
        "events": events,
    }
    caption = Rect(0, 55, 67 * lanes, 2)
    return Plan(Form.LARGE, 2, _row(lanes, 2, 67, 52), caption, events, (), width, height, fixed)


def _medium(width: int, height: int, lanes: int) -> Plan:
    """Two panels under the lanes; without the rows for them, one at a time as a drawer."""
    cards, caption = _row(lanes, 2, 60, 21), Rect(0, 24, width, 2)
    if height < 36:
        slot = Rect(0, 18, width, height - 20)
        return Plan(Form.MEDIUM, 2, cards, caption, slot, _DRAWER, width, height, floor=17)
    chart = Rect(0, 27, 60, height - 30)
    slot = Rect(60, 27, width - 60, height - 30)
    return Plan(Form.MEDIUM, 2, cards, caption, slot, _LISTS, width, height, {"chart": chart})


def _small(width: int, height: int, lanes: int) -> Plan:
    """Panels right of the lanes or under them, where there is room; else one at a time as a drawer."""
    cards, caption = _row(lanes, 1, 40, 18), Rect(0, 20, width, 2)
    left = 40 * lanes
    if width - left >= 40:
        fixed = {"chart": Rect(left, 1, width - left, 9)}
        slot = Rect(left, 11, width - left, 8)
        return Plan(Form.SMALL, 1, cards, caption, slot, _LISTS, width, height, fixed)
    if height >= 26 + _PANEL:
        slot = Rect(0, 23, width, height - 26)
        return Plan(Form.SMALL, 1, cards, caption, slot, _DRAWER[1:], width, height)
    slot = Rect(0, 15, width, height - 17)
    return Plan(Form.SMALL, 1, cards, caption, slot, _DRAWER, width, height, floor=15)


def _stacked(width: int, height: int, lanes: int) -> Plan | None:
    """Lanes one above the other; as many as have room, six to eight rows each."""
    room = height - 4  # header, caption, timeline, footer
    if room < 6 * lanes:
        return None
    tall = min(8, room // lanes)
    cards = tuple(Rect(0, 1 + at * tall, width, tall) for at in range(lanes))
    caption = Rect(0, height - 3, width, 1)
    slot = Rect(0, 1, width, height - 4)
    return Plan(Form.LINE, 1, cards, caption, slot, _DRAWER, width, height, floor=1)
