"""The settings as a page: choose with the arrows, and start the run again with what was changed."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from kvtui.errors import KvtuiError
from kvtui.tui.mainscreen import MainScreen
from kvtui.tui.pages import Page
from kvtui.tui.view.canvas import Line
from kvtui.tui.view.keys import SETTINGS_HINTS
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Scene, error_words
from kvtui.tui.view.settings import settings_lines, settings_of


class SettingsPage(Page):
    """What every setting does; nothing changes before enter."""

    BINDINGS: ClassVar = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("right,l,space", "turn(1)", show=False),
        Binding("left,h", "turn(-1)", show=False),
        Binding("tab", "lane", show=False),
        Binding("enter", "apply", show=False),
        Binding("o", "back", show=False),
    ]
    HINTS = SETTINGS_HINTS

    def __init__(self, main: MainScreen) -> None:
        super().__init__(main)
        self._before = self._after = main.stage.experiment
        self._lane = main.stage.target
        self._chosen = 0

    def text(self, scene: Scene, look: Look, width: int) -> tuple[Line, ...]:
        error = error_words(scene.heading)
        return settings_lines(self._before, self._after, self._lane, self._chosen, width=width, error=error)

    def action_move(self, by: int) -> None:
        self._chosen = (self._chosen + by) % len(settings_of(self._after, self._lane))
        self._show()

    def action_turn(self, by: int) -> None:
        setting = settings_of(self._after, self._lane)[self._chosen]
        try:
            self._after = setting.turned(self._after, self._lane, by)
        except KvtuiError as error:
            self.say(error.message)
            return
        self._show()

    def action_lane(self) -> None:
        """The settings of the next lane."""
        self._lane = (self._lane + 1) % len(self._after.lanes)
        self._chosen = 0
        self._show()

    def action_apply(self) -> None:
        self.dismiss()
        if self._after != self._before:
            self._main.call_later(self._main.begin_with, self._after)
