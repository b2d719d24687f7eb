"""Looking closer at the memory: by key and mouse, in all lanes at once, with what is inspected in sight."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.events import MouseScrollDown

from kvtui.tui.app import KvtuiApp
from kvtui.tui.view.cells import Kind, parts
from tests.tui.stagecraft import small, stand_at, still
from tests.tui.test_screen import SIZE, text

ONE = "1 cell = 1 block = 16 tokens = 2 MiB"


def big(*lanes: str, **options: object) -> KvtuiApp:
    """More blocks than cells."""
    return still(replace(small(*lanes, requests=150), slots=64_000), **options)


def codes(app: KvtuiApp, lane: int) -> list[list[int]]:
    return app.main.board.lanes[lane].grid.codes.tolist()


async def test_one_key_shows_a_block_a_cell_and_the_whole_pool_again() -> None:
    app = big()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        whole = codes(app, 1)
        await pilot.press("z")
        assert ONE in text(app, "caption")
        assert "blocks 0–639 of 4,000" in text(app, "lane-1-0")
        cells = app.stage.scene().frames[1].cells
        board = app.main.board
        assert board.scale.slots(app.stage.lanes[1]) == 16
        grid = board.lanes[1].grid
        assert grid.size.width == grid.codes.shape[1] == board.scale.width + 1
        for at in range(640):
            kind = parts(int(grid.codes[at // 32, at % 32]))[0]
            held = cells.owner[at] >= 0
            assert (kind in (Kind.STORED, Kind.PART, Kind.LATER, Kind.SHARED)) == held
        await pilot.press("z")
        assert codes(app, 1) == whole
        assert "16-token blocks" in text(app, "lane-1-0")
        assert "all of it is in sight" in text(app, "caption")


async def test_step_by_step_closer_and_back() -> None:
    app = big()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        tokens = []
        for key in ("plus", "plus", "plus", "plus", "minus", "minus", "minus", "minus"):
            await pilot.press(key)
            tokens.append(app.main.board.scale.tokens)
        assert tokens == [64, 32, 16, 16, 32, 64, 128, 128]


async def test_keys_wheel_and_bar_move_all_lanes_through_the_pool() -> None:
    app = big()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        await pilot.press("z", "J")
        assert all("blocks 320–959 of 4,000" in text(app, f"lane-{lane}-0") for lane in (0, 1))
        await pilot.press("K", "K")
        assert "blocks 0–639" in text(app, "lane-0-0")
        grid = app.main.board.lanes[0].grid.region
        await pilot._post_mouse_events([MouseScrollDown], app.main, offset=(grid.x + 3, grid.y + 3), button=0)
        assert "blocks 96–735" in text(app, "lane-1-0")
        await pilot.click(offset=(grid.right - 1, grid.bottom - 1))
        assert "blocks 3,360–3,999" in text(app, "lane-1-0")
        assert app.stage.selection.choice is None, "the bar is no block"
        await pilot.press("J")
        assert "blocks 3,360–3,999" in text(app, "lane-1-0"), "there is no more"
        await pilot.press("minus")
        assert "blocks 2,752–3,999" in text(app, "lane-1-0"), "the end stays in sight"


async def test_a_click_opens_the_block_in_sight_and_keys_keep_the_cursor_there() -> None:
    app = big("paged", "paged:32")
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        await pilot.press("z", "J")
        grid, board = app.main.board.lanes[0].grid.region, app.main.board
        owner = app.stage.scene().frames[0].cells.owner
        at = next(at for at in range(640) if owner[320 + at] >= 0)
        await pilot.click(offset=(grid.x + at % 32, grid.y + at // 32))
        assert app.stage.scene().inspected.block.block == 320 + at
        for _ in range(40):
            await pilot.press("b")
            shown = app.stage.scene().inspected
            drawn = [parts(int(value))[0] for value in board.lanes[0].grid.codes.ravel()]
            assert drawn.count(Kind.CURSOR) == 1, shown.block.block


async def test_it_stays_as_close_while_the_screen_changes() -> None:
    app = big()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        await pilot.press("z", "J", "tab")
        assert "blocks 320–959" in text(app, "lane-0-0")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.main.board.scale.tokens == 16, "a block a cell whatever the size"
        assert "blocks 320–639 of 4,000" in text(app, "lane-0-0")
        await pilot.press("1", "m")
        assert app.main.board.scale.tokens == 16


@pytest.mark.parametrize("options", [{"theme": "none", "ascii": True}, {"theme": "16-dark"}])
async def test_where_there_are_few_colours_or_only_ascii(options: dict[str, object]) -> None:
    app = big(**options)
    async with app.run_test(size=(80, 24)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("z")
        grid = app.main.board.lanes[1].grid
        rows = ["".join(segment.text for segment in grid.build(y)) for y in range(10)]
        thumb, track = "#|" if app.main.board.look.ascii else "┃│"
        assert "".join(row[-1] for row in rows) == thumb + 9 * track


async def test_where_everything_fits_it_says_so() -> None:
    app = still(small())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("z")
        assert f"{ONE}: all of it is in sight." in text(app, "caption")
        await pilot.press("J")
        assert app.main.board.zoom.top == 0
