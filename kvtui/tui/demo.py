"""A run that shows itself: played to its end, summed up, played again, for as long as one likes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

from kvtui.comparison.experiment import Experiment
from kvtui.tui.app import KvtuiApp
from kvtui.tui.pages import SummaryPage
from kvtui.tui.view.scene import Run

LOOK_S: Final = 0.5
SUMMARY_S: Final = 12.0  # that the summary stays


class DemoApp(KvtuiApp):
    """Shows an experiment in a loop of `loop_s` seconds; `once` = leave after the first. Once all lanes of a
    device have failed, it goes on with `otherwise`, which needs none.

    Whoever pauses or opens a page keeps the screen until they let go.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        otherwise: Callable[[], Experiment],
        speed: float,
        loop_s: float,
        once: bool,
        theme: str,
        ascii: bool,
    ) -> None:
        super().__init__(experiment, speed=speed, theme=theme, ascii=ascii)
        self._otherwise = otherwise
        self._loop_s = loop_s
        self._once = once
        self._began = monotonic()
        self._since: float | None = None  # the summary is open

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(LOOK_S, self._tend)

    def _tend(self) -> None:
        now = monotonic()
        if self._since is not None:
            if not isinstance(self.screen, SummaryPage):
                self._since = None  # somebody closed it
            elif now - self._since >= SUMMARY_S:
                self._next()
        elif self.screen is self.main:
            over = now - self._began >= self._loop_s and self.stage.run is Run.RUNNING
            if over or self.stage.run is Run.ENDED:
                self._since = now
                self.main.action_summary()

    def _next(self) -> None:
        """From the summary to the next run, or out."""
        self._since = None
        over = monotonic() - self._began >= self._loop_s
        if over and self._once:
            self.leave(0)
            return
        if over:
            self._began = monotonic()
        self.pop_screen()
        if self.stage.measured and all(self.stage.player.failures):
            self.main.begin_with(self._otherwise())
            self.main.say("The device carries out nothing any more: simulated from here on.")
        else:
            self.main.action_restart()


def run(
    experiment: Experiment,
    *,
    otherwise: Callable[[], Experiment],
    speed: float,
    loop_s: float,
    once: bool,
    theme: str,
    ascii: bool,
    mouse: bool,
) -> int:
    """Show it until the user leaves or, `once`, until the loop is over; gives the exit code of `tui.run`."""
    from kvtui.tui.cleanapp import show
    from kvtui.tui.terminal import ascii_only, believe_the_terminal, colourless

    believe_the_terminal()
    app = DemoApp(
        experiment,
        otherwise=otherwise,
        speed=speed,
        loop_s=loop_s,
        once=once,
        theme="none" if colourless() else theme,
        ascii=ascii or ascii_only(),
    )
    try:
        return asyncio.run(show(app, mouse=mouse))
    finally:
        app.stage.close()
