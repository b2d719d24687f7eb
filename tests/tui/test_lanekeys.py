"""What is asked on the screen, and which lane keys act on after one of them has moved the lanes."""

from __future__ import annotations

import pytest

from tests.tui.stagecraft import run_out, small, stand_at, still
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


async def test_a_line_that_is_asked_for_names_the_keys_that_answer_and_leave() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(60, 16)) as pilot:
        asked = {"a": "add it", "colon": "go there", "e": "write it"}
        for key, does in asked.items():
            await pilot.press(key)
            await pilot.pause()
            label = app.screen.query_one("#answers")
            more = "   html csv json trace.json" if key == "e" else ""
            assert str(label.render()) == f"enter {does}   esc leave it{more}"
            assert (label.region.y, label.region.height) == (15, 1), "on the last row"
            await pilot.press("escape")
            assert app.screen is app.main


async def test_a_run_that_is_cut_short_says_how_to_come_back() -> None:
    app = still(small(requests=150), speed=0.01)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("2")
        stand_at(app, 3.0)
        for key, undo in {"b": "o changes it back, ", "r": ""}.items():
            await pilot.press(key)
            words = app.main._message[0]
            assert f"It was at 00:03.0: {undo}: goes there." in words, (
                "the furthest, where key follows on key"
            )
            stand_at(app, 1.0)
        run_out(app)
        await pilot.press("r")
        assert "It was" not in app.main._message[0], "nothing is lost of a run that has ended"


async def test_the_fork_names_its_lane_and_says_that_memory_starts_empty() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(80, 24)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("1", "f")
        await pilot.pause()
        label = app.screen.query_one("#question")
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


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_before_a_branch_there_is_nothing_of_it(size: tuple[int, int]) -> None:
    app = still(small(requests=150))
    async with app.run_test(size=size) as pilot:
        stand_at(app, 3.0)
        await pilot.press("f", "enter")
        await pilot.pause(0.1)
        stand_at(app, 4.0)
        assert app.stage.scene().frames[2].counters.batch_peak
        for key, time_s in (("home", 0.0), ("colon", 1.0)):
            await pilot.press(*((key,) if key == "home" else (key, "1", "enter")))
            await pilot.pause(0.1)
            scene = app.stage.scene()
            frame = scene.frames[2]
            assert scene.time_s == time_s
            assert (frame.counters.batch_peak, frame.counters.output_tokens_per_s) == (None, None)
            assert not frame.events
            assert not frame.batch
            assert not frame.cells.state.any()
            said = "".join(words for line in app.main._caption(scene, 1e9) for words, _ in line)
            assert "branches off at 00:03.0" in said
        await pilot.press("end")
        await pilot.pause(0.1)
        assert app.stage.scene().frames[2].counters.batch_peak
