"""The widgets of the main screen: where a plan puts them, and what a scene makes them show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvtui.tui.grid import BlockGrid
from kvtui.tui.painted import Painted
from kvtui.tui.rows import Rows
from kvtui.tui.view.canvas import Line, Rect
from kvtui.tui.view.card import AREAS, draw_card
from kvtui.tui.view.cells import Codes, GridModel, hues, letters, mark, spotlight
from kvtui.tui.view.chart import chart_lines
from kvtui.tui.view.device import device_lines
from kvtui.tui.view.devicetimes import time_lines
from kvtui.tui.view.events import event_lines
from kvtui.tui.view.figures import cache_lines, figure_lines
from kvtui.tui.view.inspector import inspector_lines
from kvtui.tui.view.layout import GRID, Plan, overlap
from kvtui.tui.view.palette import Look
from kvtui.tui.view.queues import queue_lines, running_lines, waiting_lines
from kvtui.tui.view.scale import Scale, scale_for
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.zoom import Zoom, place_words, scrolls, with_bar, zoomed

PANELS = (
    "chart",
    "events",
    "waiting",
    "running",
    "figures",
    "cache",
    "queues",
    "times",
    "device",
    "inspector",
)
_AREAS = 3  # text areas of a card at most


class LaneView:
    """The grid of a lane and the text around it."""

    def __init__(self, look: Look, lane: int) -> None:
        self.grid = BlockGrid(look, id=f"grid-{lane}")
        self.areas = [Rows(look, id=f"lane-{lane}-{at}") for at in range(_AREAS)]
        self.model: GridModel | None = None


class Board:
    """All widgets of the main screen but the message for a terminal that is too small."""

    def __init__(self, look: Look, lanes: int) -> None:
        self.look = look
        self.header = Rows(look, id="header")
        self.caption = Rows(look, id="caption")
        self.timeline = Rows(look, id="timeline")
        self.footer = Rows(look, id="footer")
        self.lanes = [LaneView(look, lane) for lane in range(lanes)]
        self.panels = {name: Rows(look, id=name) for name in PANELS}
        self.plan: Plan | None = None
        self.scale: Scale | None = None  # of the grids as they are
        self.whole: Scale | None = None  # of the whole pool in sight
        self.zoom = Zoom()
        self._scrolls = False  # whether some of the pool is out of sight
        self._panel = ""

    def __iter__(self) -> Iterator[Painted]:
        yield from (self.header, self.caption, self.timeline, self.footer)
        for view in self.lanes:
            yield from (view.grid, *view.areas)
        yield from self.panels.values()

    # ---- where everything is

    def arrange(self, plan: Plan | None, panel: str, scene: Scene) -> None:
        """Put every widget in its place; `panel` is what the slot shows, "" a drawer that is shut."""
        self.plan, self._panel = plan, panel
        if plan is None:
            for widget in self:
                widget.display = False
            return
        room = GRID[plan.form]
        self.whole = scale_for(scene.lanes, room=room.width, rows=room.height)
        self.look_at(self.zoom, scene)
        for placed, rect in self._places(plan, panel, scene):
            place(placed, rect)

    def look_at(self, zoom: Zoom, scene: Scene) -> None:
        """Show another part of the pool, or more of it; as far as there is one."""
        assert self.whole is not None
        self.zoom, self.scale = zoomed(zoom, self.whole, scene.lanes)
        self._scrolls = scrolls(self.scale, scene.lanes)
        identity = letters if self.look.ascii else hues
        for view, info in zip(self.lanes, scene.lanes, strict=False):
            slots = self.scale.slots(info)
            view.model = GridModel(
                block_size=info.block_size, scale=self.scale, slots=slots, identity=identity
            )

    def _places(self, plan: Plan, panel: str, scene: Scene) -> Iterator[tuple[Painted, Rect | None]]:
        floor = plan.floor if plan.floor is not None and panel else plan.height
        if panel == "inspector":
            floor = plan.inspector.y if plan.covers else plan.height
        yield self.header, plan.header
        covered = panel != "inspector" and plan.caption.bottom > floor
        yield self.caption, _above(plan.caption, floor) if covered else plan.caption
        yield self.timeline, plan.timeline
        yield self.footer, plan.footer
        for lane, view in enumerate(self.lanes):
            if lane < len(scene.lanes):
                yield from self._lane_places(plan, view, lane, floor, scene)
            else:
                yield from ((widget, None) for widget in (view.grid, *view.areas))
        for name, widget in self.panels.items():
            yield widget, self._panel_rect(name, plan)

    def _panel_rect(self, name: str, plan: Plan) -> Rect | None:
        """Where a panel stands now; an open inspector or drawer lies over others."""
        above = plan.inspector if self._panel == "inspector" else plan.slot
        if name == self._panel:
            return above
        rect = plan.fixed.get(name)
        covered = rect and self._panel and overlap(rect, above)
        return None if covered else rect

    def _lane_places(
        self, plan: Plan, view: LaneView, lane: int, floor: int, scene: Scene
    ) -> Iterator[tuple[Painted, Rect | None]]:
        assert self.scale is not None
        card, room = plan.lanes[lane], GRID[plan.form]
        width = self.scale.width + self._scrolls
        yield view.grid, _above(Rect(card.x + room.x, card.y + room.y, width, room.height), floor)
        areas = AREAS[plan.form]
        for at, widget in enumerate(view.areas):
            if at < len(areas):
                area = areas[at]
                rect = Rect(card.x + area.x, card.y + area.y, area.width, area.height)
                yield widget, _above(rect, min(floor, card.bottom))
            else:
                yield widget, None

    # ---- what everything shows

    def paint_grids(self, scene: Scene, *, most: int | None = None) -> bool:
        """Show the memory of all lanes, in about `most` bytes; gives whether that was enough."""
        whole, shown = True, sum(view.grid.display for view in self.lanes)
        for lane, view in enumerate(self.lanes[: len(scene.lanes)]):
            if view.model is not None and view.grid.display:
                codes = self._codes(scene, lane, view.model)
                whole &= view.grid.show(codes, most=None if most is None else most // shown)
        return whole

    def _codes(self, scene: Scene, lane: int, model: GridModel) -> Codes:
        """The memory of a lane, under the spotlight where a request is inspected."""
        assert self.scale is not None
        frame, shown = scene.frames[lane], scene.inspected
        if shown is None:
            codes = model.codes(frame.cells, frame.copied)
        else:
            codes = model.codes(spotlight(frame.cells, shown.request, shown.lanes[lane].blocks))
            if lane == shown.lane and shown.block is not None:
                mark(codes, self.scale, scene.lanes[lane], shown.block.block)
        return with_bar(codes, self.scale, scene.lanes) if self._scrolls else codes

    def paint_text(self, scene: Scene, caption: Sequence[Line], *, hint: str) -> None:
        """Cards, caption and panels: everything but the grids and what shows the time."""
        plan = self.plan
        if plan is None:
            return
        for lane, view in enumerate(self.lanes[: len(scene.lanes)]):
            canvas = draw_card(scene, lane, plan.form, self.look, place=self._place(scene, lane))
            for widget, area in zip(view.areas, AREAS[plan.form], strict=False):
                widget.show(canvas.lines(area))
        self.caption.show([_indented(line, plan.margin) for line in caption])
        for name, widget in self.panels.items():
            if widget.display:
                widget.show(self._panel_lines(name, scene, plan, hint if name == self._panel else ""))

    def _place(self, scene: Scene, lane: int) -> str:
        """Where in its pool a grid is that does not show all of it."""
        if self.scale is None or not self._scrolls:
            return ""
        return place_words(self.scale, scene.lanes[lane])

    def _panel_lines(self, name: str, scene: Scene, plan: Plan, hint: str) -> tuple[Line, ...]:
        rect = self._panel_rect(name, plan)
        assert rect is not None
        size = {"width": rect.width, "height": rect.height, "margin": plan.margin}
        match name:
            case "chart":
                return chart_lines(scene, **size, ascii=self.look.ascii)
            case "inspector":
                assert scene.inspected is not None
                return inspector_lines(scene, scene.inspected, **size)
            case "events":
                return event_lines(scene, **size, hint=hint)
            case "figures":
                if not scene.snapshots:
                    return figure_lines(scene, **size, hint=hint)
                from kvtui.tui.view.servers import server_lines

                return server_lines(scene, **size, hint=hint)
            case "device":
                return device_lines(scene, **size, hint=hint, ascii=self.look.ascii)
            case "times":
                return time_lines(scene, **size, hint=hint, ascii=self.look.ascii)
            case "cache":
                return cache_lines(scene, **size, hint=hint)
            case "waiting":
                return waiting_lines(scene, **size)
            case "running":
                return running_lines(scene, **size)
            case _:
                return queue_lines(scene, **size)

    def set_look(self, look: Look) -> None:
        self.look = look
        for widget in self:
            widget.set_look(look)


def place(widget: Painted, rect: Rect | None) -> None:
    """Put a widget at a rectangle of its screen; without one it is not displayed."""
    widget.place = rect
    widget.display = rect is not None
    if rect is not None:
        styles = widget.styles
        styles.offset = (rect.x, rect.y)
        styles.width, styles.height = rect.width, rect.height


def _above(rect: Rect, floor: int) -> Rect | None:
    """What is left of a rectangle above row `floor`."""
    height = min(rect.bottom, floor) - rect.y
    return rect._replace(height=height) if height > 0 else None


def _indented(line: Line, margin: int) -> Line:
    return ((" " * margin, line[0][1]), *line) if line else line
