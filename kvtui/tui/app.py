"""The application: themes, and the keys that work everywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from kvtui.tui.cleanapp import CleanApp
from kvtui.tui.mainscreen import MainScreen
from kvtui.tui.screenshot import save
from kvtui.tui.show import Films, Playable
from kvtui.tui.stage import Stage
from kvtui.tui.terminal import view_rate
from kvtui.tui.themes import palette_of, theme_name, themes
from kvtui.tui.view.keys import keys_for
from kvtui.tui.view.palette import PALETTES, THEMES, Look
from kvtui.tui.view.words import ENGLISH


class KvtuiApp(CleanApp[int]):
    """Shows one experiment or recording."""

    TITLE = "kvtui"
    CSS_PATH = Path(__file__).with_name("kvtui.tcss")
    ALLOW_SELECT = False
    BINDINGS: ClassVar = [
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True),
        Binding("q", "quit", show=False),
        Binding("s", "screenshot", show=False),
        Binding("ctrl+z", "suspend_process", show=False),
    ]

    def __init__(
        self,
        what: Playable,
        *,
        speed: float = 4.0,
        theme: str = "dark",
        ascii: bool = False,
        filming: Films | None = None,
        language: str = ENGLISH,
        tour: bool = False,
    ) -> None:
        # Textual chooses its filter for few or no colours here, once: the right one only if it knows of it.
        super().__init__(ansi_color=None if theme in THEMES else True)
        for each in themes():
            self.register_theme(each)
        self.theme = theme_name(theme)
        self._tour = tour
        self.stage = Stage(what, speed=speed, filming=filming)
        self.stage.language = language
        self.main = MainScreen(self.stage, Look(PALETTES[theme], ascii, language), rate=view_rate())

    def get_default_screen(self) -> Screen:
        return self.main

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, lambda theme: self._recolour(theme.name))
        if self._tour:
            self.main.action_tour()  # before anything is painted
        self.app_resume_signal.subscribe(self, lambda app: self._redraw())

    def _redraw(self) -> None:
        """Send everything again: after a suspension somebody else's text may be on the terminal."""
        for widget in self.screen.walk_children():
            widget.refresh()
        self.screen.refresh(layout=True)

    def _recolour(self, theme: str) -> None:
        from kvtui.tui.pages import Page

        look = self.main.board.look
        look = replace(look, palette=palette_of(theme, look.palette.bits))
        for screen in self.screen_stack:
            if isinstance(screen, MainScreen | Page):
                screen.set_look(look)

    # ---- keys and commands

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Save what is seen as an SVG picture in the current folder."""
        from kvtui.tui.pages import Page

        scene, folder = self.stage.scene(), Path(path or ".")
        try:
            saved = save(self.export_screenshot(title="kvtui"), scene, folder)
        except OSError as error:
            words = f"The picture could not be saved: {error.strerror or error}: {folder.absolute()}"
        else:
            words = f"Saved {saved}."
        if isinstance(self.screen, MainScreen | Page):
            self.screen.say(words)

    def get_system_commands(self, screen: Screen) -> Iterable[SystemCommand]:
        for key in keys_for(len(self.stage.lanes), useless=self.main.useless):
            everywhere = key.action.startswith("app.")
            if key.action != "app.command_palette" and (everywhere or screen is self.main):
                title = key.help[0].upper() + key.help[1:]
                yield SystemCommand(title, f"key {key.written}", self._runner(screen, key.action))
        for name in THEMES if self.main.board.look.palette.bits == 8 else ():
            yield SystemCommand(f"Colours: {name}", "another theme", self._painter(name))

    def _runner(self, screen: Screen, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await screen.run_action(action)

        return run

    def _painter(self, name: str) -> Callable[[], None]:
        def paint() -> None:
            self.theme = theme_name(name)

        return paint
