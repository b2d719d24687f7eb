"""A screen fed with made-up frames, for `frame_cost` to watch.

Arguments: kvtui or naive, blocks, share of them that change in a frame, frames a second.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from rich.text import Text
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Cell, Frame
from kvtui.tui.app import KvtuiApp
from kvtui.tui.cleanapp import show
from kvtui.tui.inks import style_of
from kvtui.tui.mainscreen import MainScreen
from kvtui.tui.view.cells import GridModel
from kvtui.tui.view.glyphs import glyph
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scale import scale_for
from kvtui.tui.view.scene import Run, Scene
from tests.tui import frames
from tests.tui.stagecraft import still

BLOCK, RUN = 16, 16  # tokens a block, blocks that change together
GRID = 60, 40


class Churn:
    """The memory of a paged lane in which a share of the blocks change hands each frame."""

    def __init__(self, blocks: int, share: float, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._owner = np.repeat(self._rng.integers(0, 200, -(-blocks // RUN)), RUN)[:blocks].astype(np.int32)
        self._state = np.full(blocks, Cell.HELD, np.uint8)
        self._stored = np.full(blocks, BLOCK, np.int32)
        self._runs = max(1, round(blocks * share / RUN)) if share else 0
        self._base = frames.paged_frame()
        self._step = 0

    def frame(self) -> Frame:
        """The next picture; the same counters but for the running requests."""
        for start in self._rng.integers(0, max(1, len(self._owner) - RUN), self._runs):
            self._owner[start : start + RUN] = self._rng.integers(0, 200)
        self._step += 1
        cells = frames.cells_of(self._state, self._owner.copy(), self._stored)
        base = self._base
        running = base.counters._replace(running=60 + self._step // 20 % 9)
        return replace(base, step=self._step, time_s=self._step / 20, cells=cells, counters=running)


def lane(name: str, blocks: int) -> LaneInfo:
    return frames.lane("paged", name=name, title=name.capitalize(), blocks=blocks, pool_tokens=blocks * BLOCK)


def kvtui(blocks: int, share: float, rate: float) -> KvtuiApp:
    """The real screen; the scene moves on with every look at it, unless it is paused."""
    app = still()
    lanes = (lane("left", blocks), lane("right", blocks))
    churns = [Churn(blocks, share, seed) for seed in (1, 2)]
    app.stage.lanes = lanes
    shown = [frames.scene(lanes=lanes, frames=tuple(c.frame() for c in churns), time_s=0.0)]
    paused = [False]

    def scene() -> Scene:
        if not paused[0] and share and app.screen is app.main:
            new = tuple(churn.frame() for churn in churns)
            shown[0] = replace(shown[0], frames=new, time_s=new[0].time_s, run=Run.RUNNING)
        return replace(shown[0], run=Run.PAUSED) if paused[0] else shown[0]

    def toggle() -> None:
        paused[0] = not paused[0]

    app.stage.scene = scene  # type: ignore[method-assign]
    app.stage.toggle_pause = toggle  # type: ignore[method-assign]
    app.main = MainScreen(app.stage, Look(), rate=rate)
    return app


class Naive(App[None]):
    """The usual way: each frame a new Text in a Static, for each of two grids."""

    CSS = "Horizontal { height: 42; } Static { width: 62; border: round grey; }"
    BINDINGS = [("space", "pause", "pause")]  # noqa: RUF012

    def __init__(self, blocks: int, share: float, rate: float) -> None:
        super().__init__()
        self._churns = [Churn(blocks, share, seed) for seed in (1, 2)]
        scale = scale_for([lane("left", blocks)], room=GRID[0], rows=GRID[1])
        self._models = [GridModel(block_size=BLOCK, scale=scale) for _ in self._churns]
        self._look = Look()
        self._rate = rate
        self._paused = not share
        self.grids = [Static(), Static()]
        self.counter = Static("Left Right")

    def compose(self) -> ComposeResult:
        yield Horizontal(*self.grids)
        yield self.counter

    def on_mount(self) -> None:
        self.set_interval(1 / self._rate, self._tick)
        self._draw()

    def action_pause(self) -> None:
        self._paused = not self._paused
        self.counter.update("PAUSED" if self._paused else "running")

    def _tick(self) -> None:
        if not self._paused:
            self._draw()

    def _draw(self) -> None:
        for static, churn, model in zip(self.grids, self._churns, self._models, strict=True):
            frame, text = churn.frame(), Text()
            for row in model.codes(frame.cells).tolist():
                for value in row:
                    char, ink = glyph(value, self._look)
                    text.append(char, style_of(ink, self._look.palette))
                text.append("\n")
            static.update(text)


MAKERS: dict[str, Callable[[int, float, float], App]] = {"kvtui": kvtui, "naive": Naive}


if __name__ == "__main__":
    kind, blocks, share, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    app = MAKERS[kind](blocks, share, rate)
    asyncio.run(show(app, mouse=True) if isinstance(app, KvtuiApp) else app.run_async())
