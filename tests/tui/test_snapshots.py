"""Pictures of the screen, one for each page and size that matters.

They show frames made by hand, so that they change when the drawing does and not when the simulation does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from kvtui.tui.app import KvtuiApp
from kvtui.tui.view.scene import Run, Scene
from tests.tui.frames import contiguous_frame, paged_frame, scene
from tests.tui.stagecraft import still

Compare = Callable[..., bool]


def showing(shown: Scene, **options: object) -> KvtuiApp:
    app = still(**options)
    app.stage.scene = lambda: shown  # type: ignore[method-assign]
    app.main._narrator._known = {0, 1}  # else the first preemption is told, for two seconds
    return app


def after(*keys: str) -> Callable[[Pilot[int]], object]:
    async def prepare(pilot: Pilot[int]) -> None:
        pilot.app.main.paint()
        await pilot.press(*keys)
        await pilot.pause()

    return prepare


@pytest.mark.parametrize(
    "size", [(60, 20), (80, 24), (120, 36), (200, 60)], ids=lambda size: "x".join(map(str, size))
)
def test_main_screen(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(showing(scene()), terminal_size=size, run_before=after())


def test_main_screen_light_and_paused(snap_compare: Compare) -> None:
    app = showing(scene(run=Run.PAUSED, focus=1), theme="light")
    assert snap_compare(app, terminal_size=(120, 36), run_before=after("tab", "tab"))


def test_main_screen_without_colours_in_ascii(snap_compare: Compare) -> None:
    app = showing(scene(), theme="none", ascii=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=after())


def test_help(snap_compare: Compare) -> None:
    app = showing(scene(run=Run.PAUSED))
    assert snap_compare(app, terminal_size=(120, 36), run_before=after("question_mark"))


def test_summary(snap_compare: Compare) -> None:
    frames = (
        replace(contiguous_frame(), time_s=193.0, done=True),
        replace(paged_frame(), time_s=115.1, done=True),
    )
    verdict = (
        "paged runs 53.4 against 18.3 requests at once on average (2.9x),"
        " and is done in 115.1 s against 193.0 s (1.8x the tokens/s)."
    )
    app = showing(scene(frames=frames, run=Run.ENDED, time_s=193.0, verdict=verdict))
    assert snap_compare(app, terminal_size=(120, 36), run_before=after("S"))
