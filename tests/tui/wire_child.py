"""Shows a run until the file `stop` appears, then stands still and writes down what should be on the screen.

Arguments: a folder for `stop` and `cells.json`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from textual.widget import Widget

from kvtui.tui.app import KvtuiApp
from kvtui.tui.cleanapp import show
from kvtui.tui.flow import writing
from kvtui.tui.painted import Painted
from tests.tui.stagecraft import chat

QUIET = 25


class Watched(KvtuiApp):
    """Notes every cell it means to show: [x, y, character, foreground, background]."""

    def __init__(self, folder: Path) -> None:
        super().__init__(chat(), speed=16.0)
        self._folder = folder

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._stop())

    async def _stop(self) -> None:
        while not (self._folder / "stop").exists():
            await asyncio.sleep(0.02)
        self.stage.player.pause()
        self.main.paint()
        await asyncio.sleep(1.0)
        quiet = 0  # turns in which nothing was written: what a slow link held back follows when it is free
        while quiet < QUIET:
            await asyncio.sleep(0.02)
            quiet = 0 if writing(self) else quiet + 1
        cells = [cell for widget in self.main.board if widget.display for cell in _cells(widget)]
        (self._folder / "cells.tmp").write_text(json.dumps(cells))
        (self._folder / "cells.tmp").rename(self._folder / "cells.json")


def _cells(widget: Painted) -> list[tuple[int, int, str, int, int]]:
    region = widget.region
    assert isinstance(widget, Widget)
    cells = []
    for y, strip in enumerate(widget.render_lines(region.reset_offset)):
        x = 0
        for text, style, _ in strip:
            for char in text:
                cells.append((region.x + x, region.y + y, char, style.color.number, style.bgcolor.number))
                x += 1
    return cells


if __name__ == "__main__":
    asyncio.run(show(Watched(Path(sys.argv[1])), mouse=True))
