"""The part of the main screen that looks at the lanes many times a second, and shows what changed."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from textual.app import ComposeResult
from textual.events import Resize

from kvtui.tui.board import Board, place
from kvtui.tui.flow import Flow, Rest, writing
from kvtui.tui.inspecting import Inspecting
from kvtui.tui.lanekeys import LaneKeys
from kvtui.tui.lineup import MOST
from kvtui.tui.outlet import Outlet
from kvtui.tui.rows import Rows
from kvtui.tui.scrubbing import Scrubbing
from kvtui.tui.stage import Stage
from kvtui.tui.view.canvas import Line, Rect, cut, cut_wrap, wrap
from kvtui.tui.view.captions import Room, told_lines
from kvtui.tui.view.footer import Spot, footer_line
from kvtui.tui.view.header import header_line
from kvtui.tui.view.ink import BAD, T2, WARN
from kvtui.tui.view.inspector import TALL, sentence
from kvtui.tui.view.keys import hints, inspector_hints
from kvtui.tui.view.layout import Plan, plan_for
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.situation import Narrator
from kvtui.tui.view.timeline import timeline_line
from kvtui.tui.view.toosmall import too_small
from kvtui.tui.view.useless import tells
from kvtui.tui.view.words import word
from kvtui.tui.zooming import Zooming

TEXT_EVERY_S: Final = 0.25  # figures change no faster than they can be read
TIME_EVERY_S: Final = 0.1
MESSAGE_S: Final = 4.0


class Looking(Inspecting, Zooming, Scrubbing, LaneKeys, inherit_bindings=False):
    """Shows the stage on a board. A look costs nothing where nothing has changed since the last."""

    def __init__(self, stage: Stage, look: Look, *, rate: float) -> None:
        super().__init__()
        self.stage = stage
        self.board = Board(look, MOST)
        self._small = Rows(look, id="small")
        self._outlet = Outlet(self, self.board)
        self._rate = rate
        self._narrator = Narrator()
        self._plan: Plan | None = None
        self._panel = 0  # place in the plan's cycle
        self._spots: list[Spot] = []
        self._message: tuple[str, float] = ("", 0.0)
        self._text_due = self._time_due = 0.0
        self._shown: Scene | None = None
        self._placed = self.stage.lanes  # for which there are places
        self._room: tuple[int, int] | None = None  # in which they are
        self._flow, self._rest = Flow(), Rest()
        self._whole = True  # whether the grids show all of that scene

    def compose(self) -> ComposeResult:
        yield from self.board
        yield self._small

    def on_mount(self) -> None:
        plan = plan_for(*self.app.size, lanes=len(self.stage.lanes))
        if self.stage.published and plan is not None and "" not in plan.cycle and "figures" in plan.cycle:
            self._panel = plan.cycle.index("figures")  # servers publish numbers, and no events
        self._arrange()
        self.set_interval(1 / self._rate, self._tick)
        self.play()

    def on_resize(self, event: Resize) -> None:
        if self.app.size != self._room:  # several of these come at the start
            self._arrange()

    def on_screen_resume(self) -> None:
        self.stage.hold(False)
        self.paint()

    def on_screen_suspend(self) -> None:
        """Something lies over the screen, a page or the palette: the run waits."""
        self.stop_looking()
        self.stage.hold(True)

    # ---- showing

    def play(self) -> None:
        run: Any = self.stage.player.run  # not called before it is its turn
        self.run_worker(run, name="player", exclusive=True, exit_on_error=False)

    def _arrange(self) -> None:
        self._room = width, height = self.app.size
        lanes = self.stage.lanes
        known = any(map(tells, lanes))
        plan = plan_for(width, height, lanes=len(lanes), device=self.stage.measured, requests=known)
        if plan is not None:
            self._panel = min(self._panel, max(0, len(plan.cycle) - 1))
        self._plan = plan
        scene = self.stage.scene()
        self._placed = scene.lanes
        panel = "inspector" if scene.inspected is not None else self.panel_in_sight
        self.board.arrange(plan, panel if plan is not None else "", scene)
        place(self._small, Rect(0, 0, width, height) if plan is None else None)
        if plan is None:
            self._small.show(too_small(width, height, len(lanes), self.board.look.language))
        else:
            self.paint()

    def _tick(self) -> None:
        """One look at the lanes, unless it would not be seen or the terminal is still busy with the last."""
        if self.app.screen is not self or self.board.plan is None:
            return
        if self._rest.skip():
            return
        now = monotonic()
        if not self._flow.open(now, focused=self.app.app_focus, writing=writing(self.app)):
            return
        scene = self.stage.scene()
        if scene.lanes != self._placed:
            self._arrange()
            return
        standing = scene.run is not Run.RUNNING
        if scene.same(self._shown) and not self._message[0] and self._whole:
            self._rest.settle(calm=standing)
            return
        with self._outlet.collected():
            self._paint_grids(scene)
            if standing or now >= self._time_due:
                self._time_due = now + TIME_EVERY_S
                self._paint_time(scene)
            if standing or now >= self._text_due:
                self._paint_text(scene, now)
        self._shown = scene

    def paint(self) -> None:
        """Show this very moment, all of it."""
        self._rest.settle(calm=False)
        if self.board.plan is not None:
            scene = self.stage.scene()
            if scene.lanes != self._placed:
                self._arrange()
                return
            with self._outlet.collected():
                self._paint_grids(scene)
                self._paint_time(scene)
                self._paint_text(scene, monotonic())
            self._shown = scene

    def _paint_grids(self, scene: Scene) -> None:
        """All that changed, while nothing moves; else as much as the link takes, the rest in later frames."""
        most = self._flow.bytes if scene.run is Run.RUNNING else None
        self._whole = self.board.paint_grids(scene, most=most)

    def _paint_time(self, scene: Scene) -> None:
        plan = self.board.plan
        assert plan is not None
        self.board.header.show([header_line(scene, width=plan.width, margin=plan.margin)])
        self.board.timeline.show([timeline_line(scene, width=plan.width, margin=plan.margin)])

    def _paint_text(self, scene: Scene, now: float) -> None:
        plan = self.board.plan
        assert plan is not None
        self._text_due = now + TEXT_EVERY_S
        following = self._next_panel()
        self.board.paint_text(scene, self._caption(scene, now), hint=self._hidden(following))
        if scene.inspected is not None:
            shown = scene.inspected
            entries = inspector_hints(
                scene.run,
                blocks=bool(shown.mine.blocks),
                block=shown.block is not None,
                tall=plan.inspector.height >= TALL,
            )
        else:
            entries = hints(
                run=scene.run, next_panel=following, blocks=self.stage.blocks, useless=self.useless
            )
        line, self._spots = footer_line(
            entries, width=plan.width, margin=plan.margin, language=scene.language
        )
        if self._message[0] and not self.board.caption.display:
            room = plan.width - 2 * plan.margin
            line = ((" " * plan.margin + cut(self._message[0], room), WARN),)
        self.board.footer.show([line])

    def _caption(self, scene: Scene, now: float) -> list[Line]:
        plan = self.board.plan
        assert plan is not None
        width, rows = plan.caption.width - 2 * plan.margin, plan.caption.height
        told = None if scene.told else self._narrator.tell(scene, now=now)
        if self.stage.notice:
            self._message, self.stage.notice = (self.stage.notice, now + MESSAGE_S), ""
        text, until = self._message
        if text and now < until:
            return [((line, WARN),) for line in cut_wrap(text, width, rows)]
        self.hush()
        for lane, failure in zip(scene.lanes, scene.failures, strict=False):
            if failure is not None:
                return [((cut(f"{lane.title} stopped: {failure}. The others go on.", width), BAD),)]
        if scene.inspected is not None:
            words = wrap(sentence(scene, scene.inspected), width)
            return [((line, T2),) for line in words[:rows]]
        if told is None:
            return [((cut(text, width), T2),) for text in scene.told[:rows]]
        return list(told_lines(scene, told, plan.columns, Room(width, rows, self.board.look.language)))

    def say(self, text: str) -> None:
        """Tell something for a few seconds in place of the caption."""
        self._message = (text, monotonic() + MESSAGE_S)
        self.paint()

    def hush(self) -> None:
        self._message = ("", 0.0)

    def set_look(self, look: Look) -> None:
        self.board.set_look(look)
        self._small.set_look(look)
        self._arrange()

    # ---- panels that take turns

    def open_panel(self, name: str) -> None:
        if self._plan is not None and name in self._plan.cycle:
            self._panel = self._plan.cycle.index(name)
            self._arrange()

    def rearrange(self) -> None:
        self.follow(self.stage.scene())
        self._arrange()

    @property
    def panel_in_sight(self) -> str:
        return self._plan.cycle[self._panel] if self._plan is not None and self._plan.cycle else ""

    def _hidden(self, following: str | None) -> str:
        """Says which key shows the panels that have no room now."""
        plan = self.board.plan
        more = len([name for name in plan.cycle if name]) - 2 if plan is not None else 0
        name = word(following or "", self.stage.language)
        return f"tab: {name}" + (f" +{more}" if more > 0 else "") if following else ""

    def _next_panel(self) -> str | None:
        """What the key for the next panel would show."""
        plan = self.board.plan
        if plan is None or not plan.cycle:
            return None
        return plan.cycle[(self._panel + 1) % len(plan.cycle)] or "close"
