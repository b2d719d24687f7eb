"""The main screen: keys in, frames out. It looks at the lanes many times a second and shows what changed."""

from __future__ import annotations

from time import monotonic
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Click, Resize

from kvtui.comparison.experiment import Experiment
from kvtui.tui.board import Board, place
from kvtui.tui.flow import Flow, Rest, writing
from kvtui.tui.inspecting import Inspecting
from kvtui.tui.lanekeys import LaneKeys
from kvtui.tui.lineup import MOST
from kvtui.tui.listing import Listed
from kvtui.tui.outlet import Outlet
from kvtui.tui.rows import Rows
from kvtui.tui.scrubbing import Scrubbing
from kvtui.tui.stage import Stage
from kvtui.tui.view.canvas import Line, Rect, cut, cut_wrap, wrap
from kvtui.tui.view.captions import Room, told_lines
from kvtui.tui.view.footer import Spot, footer_line
from kvtui.tui.view.formats import speed_wanted
from kvtui.tui.view.header import header_line
from kvtui.tui.view.ink import BAD, T2, WARN
from kvtui.tui.view.inspector import TALL, sentence
from kvtui.tui.view.keys import BACKWARDS, hints, inspector_hints, keys_for
from kvtui.tui.view.layout import Plan, plan_for
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.situation import Narrator
from kvtui.tui.view.timeline import time_at, timeline_line
from kvtui.tui.view.toosmall import too_small
from kvtui.tui.view.useless import tells
from kvtui.tui.view.words import word
from kvtui.tui.zooming import Zooming

TEXT_EVERY_S: Final = 0.25  # figures change no faster than they can be read
TIME_EVERY_S: Final = 0.1
MESSAGE_S: Final = 4.0


class MainScreen(Inspecting, Zooming, Scrubbing, LaneKeys, Listed, inherit_bindings=False):
    """Two lanes and more, the batch over time, and what happens."""

    BINDINGS: ClassVar = [
        Binding(key.keys, key.action, key.help, show=False) for key in (*keys_for(4), *BACKWARDS)
    ]

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
        width, height = self.app.size
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
            self._small.show(too_small(width, height, len(self.stage.lanes)))
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

    # ---- keys and mouse

    def on_click(self, event: Click) -> None:
        plan, x, y = self.board.plan, event.screen_x, event.screen_y
        if plan is None:
            return
        if y == plan.footer.y:
            action = next((action for start, end, action in self._spots if start <= x < end), None)
            if action:
                self.call_later(self.run_action, action)
            return
        if y == plan.timeline.y:
            time_s = time_at(self.stage.scene(), x, width=plan.width, margin=plan.margin)
            self._go_to(time_s)
            return
        if self.scroll_at(x, y) or self.inspect_at(x, y):
            return
        for lane, rect in enumerate(plan.lanes):
            if rect.x <= x < rect.right and rect.y <= y < rect.bottom:
                self.action_focus_lane(lane)

    def action_toggle_pause(self) -> None:
        searching = self.stage.searching
        self.stop_looking()
        if not searching:  # a search stands still as soon as it is stopped
            self.stage.toggle_pause()
        self.paint()

    def action_step(self) -> None:
        self.stop_looking()
        self.stage.step()
        self.paint()

    def action_back(self) -> None:
        self.stop_looking()
        self.stage.back()
        self.moved()

    def action_go_to_start(self) -> None:
        self._go_to(0.0)

    def action_go_to_end(self) -> None:
        self.stop_looking()
        self.stage.go_to_end()
        self.moved()

    def action_go_to(self) -> None:
        from kvtui.tui.goto import GoTo

        self.app.push_screen(GoTo(), self._go_to)

    def action_export(self) -> None:
        from kvtui.tui.exporting import ExportTo

        picture = self.app.export_screenshot(title="kvtui")
        self.app.push_screen(ExportTo(self.stage.exhibit(picture)), self._exported)

    def _exported(self, words: str | None) -> None:
        if words is not None:
            self.say(words)

    def _go_to(self, time_s: float | None) -> None:
        if time_s is not None:
            self.stop_looking()
            self.stage.go_to(time_s)
            self.moved()

    def moved(self) -> None:
        """Show another moment; the loops may have ended behind it."""
        self.play()
        self.paint()

    def action_slower(self) -> None:
        self._change_speed(-1)

    def action_faster(self) -> None:
        self._change_speed(1)

    def _change_speed(self, by: int) -> None:
        """The header says what is reached; while nothing runs, a sentence has to."""
        self.stage.change_speed(by)
        if self.stage.run is Run.RUNNING:
            self.paint()
        else:
            self.say(f"Speed from now on: {speed_wanted(self.stage.player.clock.speed)}.")

    def action_restart(self) -> None:
        words = self.stage.restart()
        tell = self.say if self.stage.live else self.begin
        tell(words)

    def action_focus_lane(self, lane: int) -> None:
        if lane < len(self.stage.lanes):
            self.stage.focus = lane
            self.stage.selection.lane(lane)
            self.paint()

    def action_next_panel(self) -> None:
        plan = self.board.plan
        if self.stage.selection.choice is not None:
            self.action_inspect()
        elif plan is not None and plan.cycle:
            self._panel = (self._panel + 1) % len(plan.cycle)
            self._arrange()

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

    def action_settings(self) -> None:
        from kvtui.tui.settingspage import SettingsPage

        if self.stage.recorded:
            self.say(self.stage.next_manager())  # which says that nothing can be changed
        else:
            self.app.push_screen(SettingsPage(self))

    def begin_with(self, experiment: Experiment) -> None:
        """Run again with other settings."""
        self.begin(self.stage.run_with(experiment))

    def action_help(self) -> None:
        from kvtui.tui.pages import HelpPage

        self.app.push_screen(HelpPage(self))

    def action_tour(self) -> None:
        from kvtui.tui.tour.page import TourPage

        self.app.push_screen(TourPage(self))

    def action_summary(self) -> None:
        if self.stage.published:
            self.say("Real servers are not compared: each has traffic of its own.")
            return
        from kvtui.tui.pages import SummaryPage

        self.app.push_screen(SummaryPage(self))

    def begin(self, words: str) -> None:
        """A new run: its own loops, its own story."""
        self.stop_looking()
        self._narrator = Narrator()
        self.play()
        self._arrange()
        self.say(words)

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
