"""The app under Pilot: every key, the mouse, and what a size or a fault does to the screen."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kvtui.answers.report import summary
from kvtui.tui.app import KvtuiApp
from kvtui.tui.pages import HelpPage, SummaryPage
from kvtui.tui.rows import Rows
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.scene import Run
from tests.tui.stagecraft import run_out, small, stand_at, still

SIZE = (120, 36)


def text(app: KvtuiApp, id: str) -> str:
    """What a widget of the screen on top shows."""
    return "\n".join(plain(line) for line in app.screen.query_one(f"#{id}", Rows).lines)


async def settled(pilot: Pilot, seconds: float) -> None:
    """Until the clock of a running app has moved so far."""
    app = pilot.app
    start = app.stage.player.clock.now_s
    for _ in range(200):
        if app.stage.player.clock.now_s - start >= seconds or app.stage.player.ended:
            return
        await pilot.pause(0.02)
    raise AssertionError("the clock stands still")


async def test_it_opens_running_and_shows_both_lanes() -> None:
    app = KvtuiApp(small())
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot, 0.5)
        assert app.stage.run is Run.RUNNING
        assert "▶" in text(app, "header")
        assert "Contiguous" in text(app, "lane-0-0")
        assert "Paged" in text(app, "lane-1-0")
        assert "4.0x" in text(app, "header")


async def test_space_pauses_and_runs() -> None:
    app = KvtuiApp(small())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("space")
        assert app.stage.run is Run.PAUSED
        assert "PAUSED" in text(app, "header")
        assert "space run" in text(app, "footer")
        stood = app.stage.player.clock.now_ps
        await pilot.pause(0.2)
        assert app.stage.player.clock.now_ps == stood
        await pilot.press("space")
        await settled(pilot, 0.1)
        assert "space pause" in text(app, "footer")


@pytest.mark.parametrize("key", ["right", "full_stop"])
async def test_a_step_takes_the_compared_lane_on_by_one(key: str) -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(3):
            await pilot.press(key)
        assert app.stage.player.frame(1).step == 3
        assert app.stage.player.clock.now_ps == app.stage.player.lanes[1].now_ps
        assert "step 3" in text(app, "lane-1-0")


async def test_a_step_while_it_runs_does_nothing() -> None:
    app = KvtuiApp(small(), speed=1e-9)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.1)  # the first step starts as soon as there is any time at all
        await pilot.press("right")
        assert app.stage.player.frame(1).step == 1


async def test_brackets_change_the_speed() -> None:
    app = KvtuiApp(small(), speed=0.5)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("right_square_bracket")
        assert app.stage.player.clock.speed == 1.0
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert app.stage.player.clock.speed == 0.25
        assert "0.25x" in text(app, "header")


async def test_r_starts_the_same_run_again() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 2.0)
        then = app.stage.player.frame(1)
        app.stage.player.set_speed(1 / 16)  # a busy machine may take long over the next line
        await pilot.press("r")
        app.stage.player.pause()
        assert app.stage.player.clock.now_s < 2.0
        assert "starts again" in text(app, "caption")
        assert "seed 1" in text(app, "caption")
        stand_at(app, 2.0)
        again = app.stage.player.frame(1)
        assert again.counters == then.counters
        assert (again.cells.stored == then.cells.stored).all()


async def test_after_a_whole_run_the_end_of_the_next_is_known() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        assert app.stage.scene().end_s is None
        run_out(app)
        end = app.stage.scene().end_s
        assert end == app.stage.player.time_s
        await pilot.press("r")
        assert app.stage.scene().end_s == end
        await pilot.press("b")
        assert app.stage.scene().end_s is None, "not of a run with other settings"


async def test_m_changes_manager_and_reserve_rule_of_the_chosen_lane() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("m")
        assert "Choose it first, then m again: 1 Contiguous, 2 Paged." in text(app, "caption")
        assert app.stage.experiment.lanes[1].manager == "paged"
        specs = []
        await pilot.press("2")
        for _ in range(4):
            await pilot.press("m")
            specs.append((app.stage.experiment.lanes[1].manager, app.stage.experiment.lanes[1].reserve))
        assert [manager for manager, _ in specs] == ["contiguous", "contiguous", "paged", "contiguous"]
        assert [reserve for _, reserve in specs[:2]] == ["pow2", "exact"], (
            "what the other lane has is left out"
        )
        assert app.stage.focus == 1
        assert "▸" in text(app, "lane-1-0")
        assert "starts again" in text(app, "caption")


async def test_b_changes_the_block_size_and_the_grids_keep_one_scale() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        sizes = []
        for _ in range(5):
            await pilot.press("b")
            sizes.append(app.stage.experiment.lanes[1].block_size)
        assert sizes == [32, 64, 128, 8, 16]
        assert "16-token blocks" in text(app, "lane-1-0")
        await pilot.press("1", "b")
        assert "no blocks to size" in text(app, "caption")
        assert "block size" not in text(app, "footer")


async def test_a_digit_chooses_a_lane_and_keys_act_on_it() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("1")
        assert text(app, "lane-0-0").startswith("▸ Contiguous")
        assert "▸" not in text(app, "lane-1-0")
        await pilot.press("m")
        assert app.stage.experiment.lanes[0].reserve == "pow2"
        await pilot.press("3")
        assert app.stage.focus == 0, "there is no third lane"


async def test_tab_turns_the_lower_panel() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        seen = []
        assert "tab: waiting +3" in text(app, "events"), "what has no room is announced"
        for _ in range(6):
            seen.append(next(name for name in app.main.board.panels if name != "chart" and _open(app, name)))
            await pilot.press("tab")
        assert seen == ["events", "waiting", "running", "figures", "cache", "events"]
        assert "tab running" in text(app, "footer")


async def test_in_a_small_terminal_tab_opens_and_shuts_a_drawer() -> None:
    app = still()
    async with app.run_test(size=(80, 24)) as pilot:
        assert not any(_open(app, name) for name in app.main.board.panels)
        await pilot.press("tab")
        assert _open(app, "chart")
        assert not app.main.board.caption.display
        for _ in range(5):
            await pilot.press("tab")
        assert "tab close" in text(app, "footer")
        await pilot.press("tab")
        assert not any(_open(app, name) for name in app.main.board.panels)
        assert app.main.board.caption.display


def _open(app: KvtuiApp, name: str) -> bool:
    return bool(app.main.board.panels[name].display)


@pytest.mark.parametrize("way_back", ["escape", "question_mark"])
async def test_help_opens_holds_the_run_and_closes(way_back: str) -> None:
    app = KvtuiApp(small(), speed=0.5)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpPage)
        assert "every key here" in text(app, "page-text")
        stood = app.stage.player.clock.now_ps
        await pilot.pause(0.2)
        assert app.stage.player.clock.now_ps == stood
        await pilot.press(way_back)
        await settled(pilot, 0.05)
        assert app.screen is app.main


async def test_a_page_leaves_a_paused_run_paused() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("question_mark", "escape")
        await pilot.pause()
        assert app.stage.run is Run.PAUSED


async def test_the_end_offers_the_summary() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        run_out(app)
        assert "ENDED" in text(app, "header")
        assert "S shows the summary" in text(app, "caption")
        assert text(app, "footer").strip().startswith("S summary  ")
        await pilot.press("S")
        assert isinstance(app.screen, SummaryPage)
        said = " ".join(text(app, "page-text").split())
        assert summary(app.stage.experiment, app.stage.player.lanes)["verdict"] in said
        ended = app.stage.player
        await pilot.press("r")
        await pilot.pause()
        assert app.screen is app.main
        assert app.stage.player is not ended


async def test_help_scrolls_where_it_does_not_fit() -> None:
    app = still()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        page = app.screen.query_one("#page")
        assert page.max_scroll_y > 0
        await pilot.press("end")
        await pilot.pause(0.3)
        assert page.scroll_y == page.max_scroll_y


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
@pytest.mark.parametrize("before", [(), ("question_mark",), ("S",)])
async def test_leaving(key: str, before: tuple[str, ...]) -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*before)
        await pilot.press(key)
    assert app.return_code == 0


async def test_s_saves_a_picture_and_never_overwrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 1.0)
        await pilot.press("s")
        assert "Saved kvtui-small-00-01.0.svg" in text(app, "caption")
        first = (tmp_path / "kvtui-small-00-01.0.svg").read_text()
        await pilot.press("s")
        await pilot.press("question_mark", "s")
        assert "Saved kvtui-small-00-01.0-3.svg" in text(app, "page-footer")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["kvtui-small-00-01.0-2.svg", "kvtui-small-00-01.0-3.svg", "kvtui-small-00-01.0.svg"]
    assert (tmp_path / "kvtui-small-00-01.0.svg").read_text() == first
    assert "Contiguous" in first


async def test_a_picture_that_cannot_be_saved_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = still()
    async with app.run_test(size=(200, 60)) as pilot:
        monkeypatch.setattr(Path, "open", _refuse)
        await pilot.press("s")
        monkeypatch.undo()
        assert f"could not be saved: No space left on device: {Path.cwd()}" in text(app, "caption")


def _refuse(self: Path, *args: object, **options: object) -> None:
    raise OSError(28, "No space left on device")


async def test_the_palette_reaches_every_key_and_the_themes() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        titles = [command.title for command in app.get_system_commands(app.main)]
        assert "Pause, run" in titles
        assert "Colours: light" in titles
        await pilot.press("ctrl+p")
        await pilot.press(*"colours light")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause(0.3)
        assert app.theme == "kvtui-light"
        assert app.main.board.look.palette.name == "light"
        on_a_page = [command.title for command in app.get_system_commands(HelpPage(app.main))]
        assert "Pause, run" not in on_a_page


async def test_the_palette_holds_the_run() -> None:
    app = KvtuiApp(small(), speed=0.5)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        stood = app.stage.player.clock.now_ps
        await pilot.pause(0.2)
        assert app.stage.player.clock.now_ps == stood
        await pilot.press("escape")
        await settled(pilot, 0.05)
        await pilot.press("question_mark", "ctrl+p", "escape", "escape")
        await settled(pilot, 0.05)
        await pilot.press("space", "ctrl+p", "escape")
        await pilot.pause()
        assert app.stage.run is Run.PAUSED, "what the user paused stays so"


async def test_a_command_of_the_palette_is_carried_out_on_a_run_that_goes_on() -> None:
    app = KvtuiApp(small(), speed=0.5)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"pause")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause(0.3)
        assert app.screen is app.main
        assert app.stage.run is Run.PAUSED


async def test_what_is_said_under_an_open_drawer_is_said_in_the_footer() -> None:
    app = still()
    async with app.run_test(size=(60, 16)) as pilot:
        await pilot.press("tab", "1", "b")
        assert not app.main.board.caption.display
        assert "Contiguous has no blocks to size" in text(app, "footer")


async def test_while_something_lies_over_the_screen_it_is_not_drawn() -> None:
    app = KvtuiApp(small())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause(0.1)
        shown = text_of_main(app)
        await pilot.pause(0.4)
        assert text_of_main(app) == shown
        await pilot.press("escape")
        await settled(pilot, 0.2)
        await pilot.pause(0.1)
        assert text_of_main(app) != shown


def text_of_main(app: KvtuiApp) -> str:
    return plain(app.main.board.header.lines[0])


async def test_the_mouse_presses_keys_of_the_footer_and_chooses_lanes() -> None:
    app = KvtuiApp(small(), speed=1e-9)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(offset=(3, 35))
        await pilot.pause()
        assert app.stage.run is Run.PAUSED
        await pilot.click(offset=(70, 10))
        assert app.stage.focus == 1
        await pilot.click(offset=(10, 10))
        assert app.stage.focus == 0


async def test_a_terminal_that_is_too_small_says_what_it_needs_and_comes_back() -> None:
    app = still()
    async with app.run_test(size=(50, 12)) as pilot:
        assert "kvtui needs 60 x 16 cells." in text(app, "small")
        assert "This window has 50 x 12." in text(app, "small")
        assert not app.main.board.header.display
        await pilot.press("space", "tab", "right")
        await pilot.resize_terminal(120, 36)
        await pilot.pause()
        assert app.main.board.header.display
        assert "Contiguous" in text(app, "lane-0-0")


async def test_that_message_is_in_the_language_of_the_screen() -> None:
    app = still(language="ja")
    async with app.run_test(size=(50, 12)):
        shown = text(app, "small")
        assert "kvtui には 60 x 16 文字の画面が必要です。" in shown
        assert "この画面は 50 x 12 文字です。" in shown
        assert not re.search("[a-z]{2,}", shown.replace("kvtui", ""))


async def test_a_storm_of_sizes_neither_crashes_nor_loses_the_run() -> None:
    app = KvtuiApp(small())
    sizes = [(60, 16), (200, 60), (10, 3), (80, 24), (119, 35), (220, 70), (61, 40), (120, 29), (100, 30)]
    async with app.run_test(size=(80, 24)) as pilot:
        for size in sizes * 2:
            await pilot.resize_terminal(*size)
            await pilot.press("tab")
        await pilot.resize_terminal(120, 36)
        await settled(pilot, 0.3)
        grid = app.main.board.lanes[1]
        frame = app.stage.player.frame(1)
        app.main.paint()
        assert frame.step > 0
        assert (grid.grid.size.width, grid.grid.size.height) == (app.main.board.scale.width, 20)


async def test_a_broken_lane_says_so_and_the_other_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    app = KvtuiApp(small())
    broken = app.stage.player.lanes[0]

    def fail(limit: int = 1) -> bool:
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(broken, "step", fail)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot, 0.5)
        await pilot.pause(0.3)
        assert "stopped: ZeroDivisionError: broken" in text(app, "lane-0-0")
        assert "The others go on" in text(app, "caption")
        assert app.stage.player.frame(1).step > 0


@pytest.mark.parametrize("lanes", [("paged",), ("contiguous", "paged", "paged:32"), ("paged",) * 4])
async def test_one_to_four_lanes(lanes: tuple[str, ...]) -> None:
    app = still(small(*lanes))
    async with app.run_test(size=(200, 60)) as pilot:
        stand_at(app, 2.0)
        await pilot.press("1", "S", "escape", "question_mark", "escape", str(len(lanes)))
        run_out(app)
        for at in range(len(lanes)):
            assert app.main.board.lanes[at].grid.display
        assert "step" not in text(app, "caption")


async def test_a_key_is_answered_at_once_while_it_runs_as_fast_as_it_can() -> None:
    app = KvtuiApp(small(requests=2000), speed=float("inf"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.2)
        loop = asyncio.get_running_loop()
        waits = []
        for _ in range(8):
            start = loop.time()
            app.main.call_later(lambda: None)
            await asyncio.sleep(0)
            app.simulate_key("2")
            while app.stage.focus != 1:
                await asyncio.sleep(0.001)
            waits.append(loop.time() - start)
            app.stage.focus = None
        assert sorted(waits)[len(waits) // 2] < 0.5  # 0.05 on a quiet machine
        assert not app.stage.player.ended
