"""The main screen: keys in, frames out."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding
from textual.events import Click

from kvtui.comparison.experiment import Experiment
from kvtui.tui.listing import Listed
from kvtui.tui.looking import Looking
from kvtui.tui.view.formats import speed_wanted
from kvtui.tui.view.keys import BACKWARDS, keys_for
from kvtui.tui.view.scene import Run
from kvtui.tui.view.situation import Narrator
from kvtui.tui.view.timeline import time_at


class MainScreen(Looking, Listed, inherit_bindings=False):
    """Two lanes and more, the batch over time, and what happens."""

    BINDINGS: ClassVar = [
        Binding(key.keys, key.action, key.help, show=False) for key in (*keys_for(4), *BACKWARDS)
    ]

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
