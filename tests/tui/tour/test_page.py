"""The tour under Pilot: its keys, its sizes, and where it leads."""

from __future__ import annotations

from kvtui.tui.app import KvtuiApp
from kvtui.tui.tour.page import TourPage
from kvtui.tui.tour.scenes import SCENES
from tests.tui.stagecraft import small, still
from tests.tui.test_screen import text

SIZE = (120, 36)


async def test_it_opens_with_the_first_scene_and_ends_on_the_screen() -> None:
    app = still(small(), tour=True)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, TourPage)
        for place in range(len(SCENES)):
            assert f"{place + 1}/{len(SCENES)}" in text(app, "page-text")
            assert "simulated" in text(app, "page-header")
            await pilot.press("right")
        assert app.screen is app.main


async def test_no_speed_to_change_where_esc_leads_and_the_shapes_spoken_of() -> None:
    app = still(small())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("T")
        assert "esc leave for the simulation" in text(app, "page-footer")
        await pilot.press("space")
        assert "PAUSED" not in text(app, "page-header")
        assert "[" not in text(app, "page-header")
        await pilot.press("right", "right", "right", "right")
        shown = text(app, "page-text")
        assert "+ in blocks that 10 requests share" in shown, "the shape that is drawn"
        assert "+++++++" in shown
        assert "+: more" in shown


async def test_back_and_away() -> None:
    app = still(small())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("T")
        await pilot.press("right", "right", "left")
        assert "2/" in text(app, "page-text")
        await pilot.press("left", "left")
        assert "1/" in text(app, "page-text")
        assert "back" not in text(app, "page-footer")
        await pilot.press("escape")
        assert app.screen is app.main


async def test_a_scene_can_be_watched() -> None:
    app = still(small())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("T")
        page = app.screen
        assert isinstance(page, TourPage)
        assert page._act is not None
        figure = f"{page._act.point.figure}% of the memory"
        assert figure in text(app, "page-text")
        await pilot.press("space")
        assert not page._act.there
        assert figure not in text(app, "page-text")
        for _ in range(100):
            if page._act.there:
                break
            await pilot.pause(0.1)
        assert figure in text(app, "page-text")


async def test_it_follows_the_size_of_the_terminal_and_the_language() -> None:
    app = KvtuiApp(small(), language="ja")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("T")
        assert "なぜ 10 件" in text(app, "page-text")
        await pilot.resize_terminal(140, 40)
        await pilot.pause()
        assert "なぜ 20 件" in text(app, "page-text")
        await pilot.click("#page-footer", offset=(4, 0))
        assert "2/" in text(app, "page-text")
