"""The layout tables, and a sweep over sizes: nothing overlaps, nothing is off the screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kvtui.tui.view.canvas import Rect
from kvtui.tui.view.card import AREAS
from kvtui.tui.view.layout import GRID, Form, Plan, overlap, plan_for


def test_the_table_at_80x24() -> None:
    plan = plan_for(80, 24, lanes=2)
    assert plan is not None
    assert (plan.form, plan.margin) == (Form.SMALL, 1)
    assert plan.lanes == (Rect(0, 1, 40, 18), Rect(40, 1, 40, 18))
    assert plan.caption == Rect(0, 20, 80, 2)
    assert plan.slot == Rect(0, 15, 80, 7)
    assert (plan.timeline.y, plan.footer.y) == (22, 23)


def test_the_table_at_120x36() -> None:
    plan = plan_for(120, 36, lanes=2)
    assert plan is not None
    assert plan.form is Form.MEDIUM
    assert plan.lanes == (Rect(0, 2, 60, 21), Rect(60, 2, 60, 21))
    assert plan.caption == Rect(0, 24, 120, 2)
    assert plan.fixed == {"chart": Rect(0, 27, 60, 6)}
    assert plan.slot == Rect(60, 27, 60, 6)
    assert plan.cycle == ("events", "waiting", "running", "figures", "cache")


def test_the_table_at_200x60() -> None:
    plan = plan_for(200, 60, lanes=2)
    assert plan is not None
    assert plan.form is Form.LARGE
    assert plan.lanes == (Rect(0, 2, 67, 52), Rect(67, 2, 67, 52))
    assert plan.caption == Rect(0, 55, 134, 2)
    assert plan.fixed["chart"] == Rect(136, 2, 62, 13)
    assert plan.fixed["events"] == Rect(136, 46, 62, 11)
    assert not plan.cycle, "everything is open"


def test_the_table_at_60x20_and_below() -> None:
    plan = plan_for(60, 20, lanes=2)
    assert plan is not None
    assert plan.lanes == (Rect(0, 1, 60, 8), Rect(0, 9, 60, 8))
    assert plan.caption == Rect(0, 17, 60, 1)
    heights = [plan_for(60, height, lanes=2).lanes[0].height for height in range(16, 22)]  # type: ignore[union-attr]
    assert heights == [6, 6, 7, 7, 8, 8]


@pytest.mark.parametrize(
    ("width", "height", "lanes"), [(59, 16, 2), (60, 15, 2), (79, 24, 4), (80, 23, 4), (60, 20, 3)]
)
def test_too_small_is_said_and_not_tried(width: int, height: int, lanes: int) -> None:
    assert plan_for(width, height, lanes=lanes) is None


@pytest.mark.parametrize(("size", "lanes"), [((100, 30), 2), ((80, 30), 2), ((130, 33), 2), ((64, 26), 2)])
def test_rows_without_room_for_a_panel_tell_the_newest_events(size: tuple[int, int], lanes: int) -> None:
    plan = plan_for(*size, lanes=lanes)
    assert plan is not None
    events = plan.fixed["events"]
    last = max(plan.caption.bottom if plan.caption.y < events.y else 0, *(lane.bottom for lane in plan.lanes))
    assert events.y <= last + 1
    assert (plan.timeline.y if plan.caption.y < events.y else plan.caption.y) - events.bottom == 1
    assert plan_for(*size, lanes=lanes, requests=False).fixed == {}, "but where nothing is told of them"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("size", "lanes"), [((120, 36), 1), ((200, 36), 2), ((200, 60), 1), ((120, 30), 1), ((260, 40), 3)]
)
def test_width_beside_the_lanes_is_used(size: tuple[int, int], lanes: int) -> None:
    plan = plan_for(*size, lanes=lanes)
    assert plan is not None
    right = max(lane.right for lane in plan.lanes)
    beside = [rect for rect in (*plan.fixed.values(), plan.slot) if rect.x >= right and rect.y < 20]
    assert sum(rect.width * rect.height for rect in beside) > 0.8 * 20 * (size[0] - right)


def test_more_lanes_use_smaller_cards() -> None:
    for width, height, lanes, form in (
        (120, 36, 3, Form.SMALL),
        (180, 36, 3, Form.MEDIUM),
        (200, 60, 4, Form.TALLER),
        (200, 40, 4, Form.TALL),
        (200, 30, 4, Form.SMALL),
        (80, 44, 2, Form.TALL),
        (80, 30, 3, Form.LINE),
        (80, 24, 4, Form.MINI),
        (80, 28, 4, Form.LINE),
        (120, 36, 1, Form.MEDIUM),
    ):
        plan = plan_for(width, height, lanes=lanes)
        assert plan is not None
        assert plan.form is form
        assert len(plan.lanes) == lanes


def parts(plan: Plan, panel: str) -> Iterator[tuple[str, Rect]]:
    """What is on the screen, with that panel in the slot."""
    yield "header", plan.header
    yield "timeline", plan.timeline
    yield "footer", plan.footer
    floor = plan.floor if plan.floor is not None and panel else plan.height
    clipped = [("caption", plan.caption)]
    for lane, card in enumerate(plan.lanes):
        places = {"grid": GRID[plan.form], **{f"text {at}": area for at, area in enumerate(AREAS[plan.form])}}
        for name, place in places.items():
            rect = Rect(card.x + place.x, card.y + place.y, place.width, place.height)
            clipped.append((f"lane {lane} {name}", _above(rect, card.bottom)))
    yield from ((name, _above(rect, floor)) for name, rect in clipped)
    drawer = plan.floor is not None and panel
    for name, rect in plan.fixed.items():
        if name != panel and not (drawer and overlap(rect, plan.slot)):
            yield name, rect
    if panel:
        yield panel, plan.slot


def _above(rect: Rect, floor: int) -> Rect:
    return rect._replace(height=max(0, min(rect.bottom, floor) - rect.y))


def test_a_sweep_of_sizes_overlaps_nowhere_and_leaves_nothing_outside() -> None:
    tried = 0
    for lanes in (1, 2, 3, 4):
        for width in range(60, 221, 4):
            for height in range(16, 71, 3):
                plan = plan_for(width, height, lanes=lanes)
                for panel in (plan.cycle or ("",)) if plan else ():
                    _check(plan, panel)
                    tried += 1
    assert tried > 4000


def _check(plan: Plan, panel: str) -> None:
    taken: list[tuple[str, Rect]] = []
    for name, rect in parts(plan, panel):
        if not rect.height:
            continue
        where = f"{plan.width}x{plan.height}, {len(plan.lanes)} lanes, {panel or 'no panel'}: {name} {rect}"
        assert rect.x >= 0, where
        assert rect.y >= 0, where
        assert rect.right <= plan.width, where
        assert rect.bottom <= plan.height, where
        for other, at in taken:
            apart = rect.x >= at.right or at.x >= rect.right or rect.y >= at.bottom or at.y >= rect.bottom
            assert apart, f"{where} over {other} {at}"
        taken.append((name, rect))
