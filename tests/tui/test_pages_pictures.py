"""Pictures of every page in several sizes and colours, from few starts of the screen.

`pytest --snapshot-update` writes them anew; they show frames made by hand, and the tour its own runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from kvtui.frames.chronicle import Tenure
from kvtui.frames.frame import Cell, Event, EventKind
from kvtui.frames.inspection import BlockLife, Inspected, Inspection, Stand
from kvtui.tui.app import KvtuiApp
from kvtui.tui.view.palette import PALETTES, Look
from kvtui.tui.view.scene import Run, Scene
from tests.tui.frames import HEADING, contiguous_frame, paged_frame, scene
from tests.tui.pictures import picture
from tests.tui.stagecraft import still

PAGES = {"settings": "o", "help": "question_mark", "summary": "S", "tour": "T"}
SMALL, USUAL, LARGE = (80, 24), (120, 36), (200, 60)
BESIDES = "settings", "tour"  # at the usual size: help and summary have pictures in `test_snapshots`
ERROR = "±6 % (p90 20 %)"
LIFE = (
    Event(10.0, 300, EventKind.ARRIVED, 34, 75, 544),
    Event(20.5, 610, EventKind.ADMITTED, 34, 75, 5),
    Event(20.5, 610, EventKind.CHUNK, 34, 75, 0),
    Event(20.6, 612, EventKind.FIRST_TOKEN, 34, 1, 10_600),
    Event(31.2, 900, EventKind.PREEMPTED, 34, 21, 40),
)


def inspected() -> Inspected:
    """A request that waits in the first lane, and has blocks in the second, one of them shared."""
    waiting = Inspection(
        *(34, Stand.WAITING, LIFE[:1], (), (), (), (), {}),
        why="It is next, but needs 128 free blocks in a row and the longest free stretch has 21.",
    )
    blocks = (935, 936, 937, 1019, 1053, 7, 8, 9, 2011)
    refs, keys = (2, *(1,) * 8), (0xC0FFEE, *(None,) * 8)
    paged = Inspection(34, Stand.RUNNING, LIFE, blocks, (*(16,) * 8, 3), refs, keys, {935: (41, 77)}, why="")
    tenures = (Tenure(11, 3.9, 20.5, False, "freed"), Tenure(34, 20.5, None, True, ""))
    return Inspected(34, 1, (waiting, paged), block=BlockLife(935, Cell.HELD, 16, tenures))


def shown(**changes: object) -> Scene:
    frames = replace(contiguous_frame(), time_s=74.0), paged_frame()
    heading = replace(HEADING, tpot_error=ERROR, ttft_error="±22 % (p90 58 %)", usd_per_hour=1.2)
    return scene(**({"frames": frames, "heading": heading, "run": Run.PAUSED} | changes))


@asynccontextmanager
async def opened(size: tuple[int, int], **options: object) -> AsyncIterator[tuple[KvtuiApp, Pilot[int]]]:
    """An app that shows the same scene for ever."""
    app = still(**options)
    app.stage.scene = lambda: shown(language=app.stage.language)  # type: ignore[method-assign]
    app.main._narrator._known = {0, 1}
    async with app.run_test(size=size) as pilot:
        app.main.paint()
        await pilot.pause()
        yield app, pilot


async def pages(
    app: KvtuiApp,
    pilot: Pilot[int],
    snapshot: SnapshotAssertion,
    name: str,
    *,
    names: Iterable[str] = PAGES,
    ascii: bool = False,
) -> None:
    """Compare pages, and the inspector over the main screen."""
    for page in names:
        await pilot.press(PAGES[page])
        await pilot.pause()
        seen = picture(app)
        await pilot.press("escape")
        assert seen.isascii() or not ascii, f"{page} in ASCII"
        assert seen == snapshot(name=f"{page} {name}")
    usual = app.stage.scene
    app.stage.scene = lambda: shown(inspected=inspected())  # type: ignore[method-assign]
    app.main.rearrange()
    await pilot.pause()
    seen = picture(app)
    app.stage.scene = usual  # type: ignore[method-assign]
    app.main.rearrange()
    await pilot.pause()
    assert seen.isascii() or not ascii
    assert seen == snapshot(name=f"inspector {name}")


async def test_pages_in_three_sizes(snapshot: SnapshotAssertion) -> None:
    async with opened(SMALL) as (app, pilot):
        await pages(app, pilot, snapshot, "80x24")
        app.theme = "kvtui-light"
        await pages(app, pilot, snapshot, "light", names=["settings", "summary"])
        app.theme = "kvtui-dark"
        await pilot.resize_terminal(*USUAL)
        await pages(app, pilot, snapshot, "120x36", names=BESIDES)
        await pilot.resize_terminal(*LARGE)
        await pages(app, pilot, snapshot, "200x60", names=["settings", "help", "summary"])


@pytest.mark.parametrize("palette", ["16-dark", "none"])
async def test_pages_with_few_colours(palette: str, snapshot: SnapshotAssertion) -> None:
    async with opened(SMALL, theme=palette) as (app, pilot):
        await pages(app, pilot, snapshot, palette)
        assert picture(app) == snapshot(name=f"main {palette}")
        if palette == "none":
            app.main.set_look(Look(PALETTES[palette], ascii=True))
            await pages(app, pilot, snapshot, "ascii", ascii=True)


async def test_the_main_screen_in_japanese(snapshot: SnapshotAssertion) -> None:
    async with opened(USUAL, language="ja") as (app, _):
        assert picture(app) == snapshot
