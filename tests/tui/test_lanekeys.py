"""What is asked on the screen, and which lane keys act on after one of them has moved the lanes."""

from __future__ import annotations

import pytest

from tests.tui.stagecraft import small, stand_at, still
from tests.tui.test_screen import text


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
@pytest.mark.parametrize("key", ["f", "a", "colon", "e"])
async def test_the_picture_stays_while_a_line_is_asked_for(key: str, size: tuple[int, int]) -> None:
    app = still(small(requests=150))
    async with app.run_test(size=size) as pilot:
        stand_at(app, 3.0)
        await pilot.press(key)
        await pilot.pause()
        assert app.screen is not app.main
        assert "Contiguous" in app.export_screenshot(), "the main screen is seen through it"


async def test_the_fork_names_its_lane_and_says_that_memory_starts_empty() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(80, 24)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("1", "f")
        await pilot.pause()
        (label,) = app.screen.query("Label")
        asked = str(label.render())
        assert app.stage.lanes[0].title in asked
        assert "empty memory" in asked


async def test_the_chosen_lane_stays_chosen_and_marked_when_it_becomes_the_baseline() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(120, 36)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("2", "equals_sign")
        assert app.stage.lanes[app.stage.target].title == "Paged"
        assert "▸" in text(app, "lane-0-0")
        assert "▸" not in text(app, "lane-1-0")
        await pilot.press("D")
        assert [info.title for info in app.stage.lanes] == ["Contiguous"]
