"""Applications that end clean: signals, a closed terminal and faults of our own leave it as it was."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, TypeVar

from rich.console import Console
from rich.segment import Segment
from textual.app import App

from kvtui.tui import crash, guard, spanfix

USUAL = 700, 10, 10  # of Python: new objects, and rounds, after which garbage is looked for
Result = TypeVar("Result")


class CleanApp(App[Result]):
    """An application for `show`."""

    def _fatal_error(self) -> None:
        """Instead of a traceback with everybody's values on the screen; `show` tells what happened."""
        self._close_messages_no_wait()

    def export_screenshot(self, *, title: str | None = None, simplify: bool = False) -> str:
        """The screen as an SVG of our own, which needs no font from anywhere."""
        from kvtui.tui.picture import svg_of

        console = Console(
            width=self.size.width, height=self.size.height, file=StringIO(), legacy_windows=False
        )
        drawn = self.screen._compositor.render_update(full=True, screen_stack=self._background_screens)
        assert drawn is not None  # as all of it was asked for
        rows = Segment.split_lines(console.render(drawn))
        return svg_of([*rows], self.ansi_theme, title=title or self.title)

    def leave(self, code: int) -> None:
        """End with an exit code, the terminal restored."""
        self.exit(return_code=code)


@contextmanager
def guarded(app: CleanApp[Any]) -> Iterator[None]:
    """Signals and a closed terminal end the program while inside."""
    watch = guard.watch_hangup()
    try:
        with guard.handled_signals(app.leave):
            yield
    finally:
        watch.set()


async def show(app: CleanApp[Any], *, mouse: bool) -> int:
    """Run the screen to its end; gives the exit code, 1 after an error of our own."""
    spanfix.apply()
    gc.freeze()  # all that has been loaded stays: no need to go through it again and again
    gc.set_threshold(*USUAL)
    error: Exception | None
    try:
        with guarded(app):
            await app.run_async(mouse=mouse)
        error = app._exception  # Textual keeps it for its tests, and gives no other way to it
    except Exception as raised:
        error = raised
    if error is not None:
        print(crash.report(error), file=sys.stderr)
        return 1
    return app.return_code or 0
