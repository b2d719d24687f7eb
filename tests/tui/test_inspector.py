"""The inspector: opened from everywhere, by key and mouse, and telling what the engine says."""

from __future__ import annotations

import re

import pytest

from kvtui.frames.frame import EventKind
from kvtui.recording import Recording
from kvtui.tui.app import KvtuiApp
from kvtui.tui.view.cells import Kind, parts
from tests.answers.test_report import experiment
from tests.recording.films import filmed
from tests.tui.stagecraft import run_out, small, stand_at, still
from tests.tui.test_screen import SIZE, text

SIZES = [(60, 16), (60, 20), (80, 24), (100, 30), (120, 36), (150, 34), (200, 60)]


def tables(app: KvtuiApp, lane: int) -> dict[int, list[int]]:
    engine = app.stage.player.lanes[lane].engine
    return {r.number: [b - 1 for b in r.table] for r in engine.scheduler.running.values()}


def kinds(app: KvtuiApp, lane: int) -> set[Kind]:
    codes = app.main.board.lanes[lane].grid.codes
    return {parts(int(code))[0] for code in codes.ravel()}


async def test_enter_opens_it_and_keys_go_through_requests_and_blocks() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        await pilot.press("tab", "tab", "enter")
        running = [row.request for row in app.stage.scene().frames[1].running]
        held = tables(app, 1)
        for request in running[:3]:
            panel = text(app, "inspector")
            assert f"r{request} " in panel
            assert f"{len(held[request])} blocks" in panel
            assert f"→{held[request][0]}" in panel
            await pilot.press("down")
        await pilot.press("up", "k", "j", "up")
        assert f"r{running[1]} " in text(app, "inspector")
        first, second, *_ = held[running[1]]
        assert f"block {first} " in text(app, "inspector")
        await pilot.press("b")
        assert f"block {second} " in text(app, "inspector")
        await pilot.press("B")
        assert f"block {first} " in text(app, "inspector")
        await pilot.press("escape")
        assert not app.main.board.panels["inspector"].display
        assert app.main.board.panels["running"].display


async def test_the_selected_request_stands_in_the_light() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        assert Kind.OTHER not in kinds(app, 1)
        await pilot.press("tab", "tab", "i")
        assert {Kind.OTHER, Kind.CURSOR} <= kinds(app, 1)
        codes = app.main.board.lanes[1].grid.codes
        hues = {parts(int(c))[2] for c in codes.ravel() if parts(int(c))[0] in (Kind.STORED, Kind.PART)}
        assert len(hues) == 1
        await pilot.press("escape")
        assert Kind.OTHER not in kinds(app, 1)


async def test_a_click_on_the_grid_tells_whose_block_it_is() -> None:
    app = still(small("paged", "paged:32", requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 2.0)
        grid = app.main.board.lanes[0].grid.region
        await pilot.click(offset=(grid.x + 5, grid.y + 1))
        shown = app.stage.scene().inspected
        assert (shown.lane, app.stage.focus) == (0, 0)
        assert shown.block.block in shown.mine.blocks
        owner = int(app.stage.scene().frames[0].cells.owner[shown.block.block])
        assert owner == shown.request
        assert f"block {shown.block.block} " in text(app, "inspector")


async def test_clicks_on_rows_and_lines_open_their_request() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        for panel in ("events", "waiting", "running"):
            widget = app.main.board.panels[panel]
            assert widget.display
            row = next(
                y for y, line in enumerate(text(app, panel).split("\n")) if y and re.search(r"\br\d+", line)
            )
            line = text(app, panel).split("\n")[row]
            match = [*re.finditer(r"\br(\d+)\b", line)][-1 if panel != "events" else 0]
            await pilot.click(offset=(widget.region.x + match.start() + 1, widget.region.y + row))
            assert app.stage.scene().inspected.request == int(match[1]), panel
            await pilot.press("escape", "tab")


async def test_keys_go_through_the_list_in_sight() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        running = app.stage.scene().frames[1].running
        await pilot.press("enter")
        assert app.stage.selection.choice.request == running[0].request, "whatever the log tells"
        await pilot.press("escape", "tab", "1", "down")
        waiting = app.stage.scene().frames[0].waiting
        assert app.stage.selection.choice.request == waiting[0].request, "from the queue"
        await pilot.press("2")
        assert app.stage.scene().inspected.lane == 1


async def test_why_a_request_is_still_waiting() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(200, 60)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("1")
        while _has_room(app):
            await pilot.press("right")
        waiting = app.stage.scene().frames[0].waiting
        app.stage.selection.open(waiting[0].request, 0)
        app.main.rearrange()
        needed = app.stage.lanes[0].region_blocks
        assert f"is next, but needs {needed} free blocks in a row" in text(app, "caption")
        app.stage.selection.open(waiting[4].request, 0)
        app.main.rearrange()
        assert "4 requests stand before it" in text(app, "caption")
        paged = app.stage.scene().frames[1].waiting
        app.stage.selection.open(paged[0].request, 1)
        app.main.rearrange()
        assert re.search(r"needs \d+ blocks for its \d+ tokens and \d+ are free", text(app, "caption"))


async def test_the_whole_reason_is_read_at_80_columns() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(80, 24)) as pilot:
        stand_at(app, 3.0)
        while _has_room(app):
            await pilot.press("right")
        app.stage.selection.open(app.stage.scene().frames[0].waiting[4].request, 0)
        app.main.rearrange()
        panel = " ".join(text(app, "inspector").split())
        assert re.search(
            r"is next, but needs \d+ free blocks in a row and the longest .* has \d+\. Paged", panel
        )


def _has_room(app: KvtuiApp) -> bool:
    """Whether a request has just ended, so that the next one may come."""
    lanes = app.stage.player.lanes
    wanted = [lane.engine.scheduler.waiting.head() for lane in lanes]
    placement = lanes[0].engine.manager.placement
    largest = max((size for _, size in placement.extents()), default=0)
    pool = lanes[1].engine.manager
    return largest >= app.stage.lanes[0].region_blocks or pool.free_blocks >= pool.blocks_for(wanted[1].known)


async def test_the_life_of_a_preempted_request() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(200, 60)) as pilot:
        run_out(app)
        log = app.stage.chronicle(1).moments([EventKind.PREEMPTED])
        assert len(log)
        events = app.stage.player.lanes[1].frame(events=500).events
        victim = next(event for event in reversed(events) if event.kind is EventKind.PREEMPTED)
        app.stage.selection.open(victim.request, 1)
        app.main.rearrange()
        panel = text(app, "inspector")
        for word in ("arrived", "admitted", "chunk", "first token", "preempted", "again:", "finished"):
            assert word in panel, word
        assert f"for r{victim.b}" in panel, "by whom"
        assert "was finished at" in text(app, "caption")
        await pilot.press("home")
        assert "not arrived" in text(app, "inspector")
        app.stage.go_to(victim.time_s + 1e-6)
        app.main.paint()
        assert "finished" not in text(app, "inspector"), "as of the moment that is shown"
        assert "preempted" in text(app, "inspector")


async def test_who_shares_a_block_and_its_key() -> None:
    app = still(experiment("shared-prefix", "paged"))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 20.0)
        engine = app.stage.player.lanes[0].engine
        extra, running = engine.manager.pool.extra, engine.scheduler.running
        request = next(r for r in running.values() if r.table[0] in extra)
        app.stage.selection.open(request.number, 0)
        app.main.rearrange()
        panel = text(app, "inspector")
        assert f"ref {extra[request.table[0]] + 1}" in panel
        assert f"key {request.keys[0]:x}" in panel
        assert "shared with" in panel
        assert " shared" in panel
        await pilot.press("b")


@pytest.mark.parametrize("size", SIZES)
async def test_it_opens_at_every_size_and_nothing_overlaps(size: tuple[int, int]) -> None:
    app = still(small(requests=150))
    async with app.run_test(size=size) as pilot:
        stand_at(app, 3.0)
        await pilot.press("enter", "tab", "tab", "down", "b")
        widgets = [widget for widget in app.main.board if widget.display]
        assert app.main.board.panels["inspector"] in widgets
        regions = [widget.region for widget in widgets]
        for at, one in enumerate(regions):
            assert all(not one.overlaps(other) for other in regions[at + 1 :])
        assert app.main.board.caption.display
        assert "Inspector" in text(app, "inspector")
        await pilot.resize_terminal(40, 10)
        await pilot.resize_terminal(*size)
        await pilot.press("escape")
        assert not app.main.board.panels["inspector"].display


async def test_a_recording_can_be_inspected_all_the_same() -> None:
    shown = []
    for app in (still(small(requests=150)), still(Recording(filmed()))):
        async with app.run_test(size=(200, 60)) as pilot:
            stand_at(app, 3.0)
            await pilot.press("enter", "down", "b", "right", "right", "left")
            shown.append((text(app, "inspector"), text(app, "caption")))
    assert shown[0] == shown[1]


async def test_before_anything_runs_there_is_nothing_to_inspect() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("enter")
        assert "no request to inspect" in text(app, "caption")
        await pilot.press("escape")


async def test_a_request_without_blocks_has_no_next_one() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 3.0)
        await pilot.press("1", "enter")
        assert "b next block" in text(app, "footer")
        await pilot.press("up")
        assert app.stage.scene().inspected.request == app.stage.scene().frames[0].waiting[-1].request
        assert "next block" not in text(app, "footer")
        reason = app.stage.scene().inspected.mine.why
        assert reason in " ".join(text(app, "inspector").split()), "in whole"
        assert re.search(r"\d  arrived  ", text(app, "inspector")), "its life where it has no blocks"
