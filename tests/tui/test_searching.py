"""A search through time: what the screen says of it, how it is stopped, and that it keeps the place."""

from __future__ import annotations

import pytest

from kvtui.tui.view.scene import Run
from tests.tui.stagecraft import run_out, small, stand_at, still
from tests.tui.test_screen import text


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_search_that_finds_nothing_goes_back_to_where_it_was(size: tuple[int, int]) -> None:
    app = still(small(requests=150))
    async with app.run_test(size=size) as pilot:
        stand_at(app, 1.0)
        now, shown = app.stage.player.clock.now_ps, text(app, "lane-1-0")
        await pilot.press("x")
        for _ in range(300):
            await pilot.pause(0.02)
            if app.main._message[0]:
                break
        assert app.main._message[0] == "Nothing is rejected in the rest of the run."
        assert app.stage.player.clock.now_ps == now
        assert app.stage.run is Run.PAUSED
        assert text(app, "lane-1-0") == shown


async def test_while_it_searches_the_screen_says_so_and_space_stops_it() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(120, 36)) as pilot:
        stand_at(app, 1.0)
        app.main.action_next_event("rejected")
        assert " SEARCHING " in text(app, "header")
        assert "space stop" in text(app, "footer")
        await pilot.press("space")
        assert " PAUSED " in text(app, "header")
        stopped = app.stage.player.clock.now_ps
        await pilot.pause(0.2)
        assert app.stage.player.clock.now_ps == stopped
        await pilot.press("space")
        assert app.stage.run is Run.RUNNING


async def test_that_no_cached_block_is_evicted_is_said_in_plain_words() -> None:
    app = still()
    async with app.run_test(size=(120, 36)) as pilot:
        run_out(app)
        await pilot.press("v")
        assert "Nothing that others could have used is evicted in the rest of the run." in text(
            app, "caption"
        )


async def test_counted_evictions_that_are_no_events_are_named() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(120, 36)) as pilot:
        run_out(app)
        counters = app.stage.scene().frames[1].counters
        assert counters.evictions > 0
        assert counters.reusable_evictions == 0
        said = f"{counters.evictions:,} blocks were evicted that nobody else could have used."
        for key in ("V", "X"):
            await pilot.press(key)
            assert (said in text(app, "caption")) == (key == "V")


async def test_another_speed_is_told_while_nothing_runs() -> None:
    app = still()
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("right_square_bracket")
        assert "Speed from now on: 8.0x." in text(app, "caption")
