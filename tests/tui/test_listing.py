"""Finding a request in queues of thousands: by filter, page and wheel."""

from __future__ import annotations

import pytest
from textual.events import MouseScrollDown

from tests.tui.stagecraft import small, stand_at, still
from tests.tui.test_screen import text


@pytest.mark.parametrize(
    ("size", "panel"), [((80, 24), "waiting"), ((120, 36), "waiting"), ((200, 60), "queues")]
)
async def test_a_filter_is_typed_and_left(size: tuple[int, int], panel: str) -> None:
    app = still(small(requests=3000))
    async with app.run_test(size=size) as pilot:
        stand_at(app, 3.0)
        last = app.stage.player.lanes[1].frame(rows=5000).waiting[-1].request
        await pilot.press("slash", *"nobody", "enter")
        assert app.screen is not app.main, "it asks again"
        await pilot.press(*["backspace"] * 6, *str(last), "enter")
        assert f"r{last} " in text(app, panel)
        assert "1 of " in text(app, panel)
        await pilot.press("escape")
        assert f"r{last} " not in text(app, panel)


async def test_pages_and_the_wheel_go_through_thousands() -> None:
    app = still(small(requests=3000))
    async with app.run_test(size=(120, 36)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("tab")
        rows = app.stage.player.lanes[0].frame(rows=5000).waiting
        room = app.main.board.panels["waiting"].size.height - 2
        await pilot.press("pagedown")
        assert f"r{rows[room].request} " in text(app, "waiting")
        assert f"{room} above" in text(app, "waiting")
        for _ in range(1000 // room):
            app.main.action_page(1)
        await pilot.press("pageup")
        assert f"r{rows[(1000 // room) * room].request} " in text(app, "waiting")
        region = app.main.board.panels["waiting"].region
        await pilot.press("escape")
        assert "above" not in text(app, "waiting")
        await pilot._post_mouse_events([MouseScrollDown], None, (region.x + 5, region.y + 2), 0)
        await pilot.pause()
        assert "3 above" in text(app, "waiting")


@pytest.mark.parametrize("key", ["slash", "colon", "a", "e", "f"])
async def test_what_asks_for_a_line_leaves_the_picture_in_sight(key: str) -> None:
    app = still(small())
    async with app.run_test(size=(80, 24)) as pilot:
        stand_at(app, 3.0)
        await pilot.press(key)
        await pilot.pause(0.1)
        assert app.screen is not app.main
        assert app.screen.styles.background.a == 0
