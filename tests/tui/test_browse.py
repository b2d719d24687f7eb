"""The trace browser: what it lists and shows, and what it gives back to be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kvtui.tui.browse import BrowseApp, Choice
from kvtui.tui.rows import Rows
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.tracepage import Window

CSV = "arrival_s,prompt_tokens,output_tokens\n" + "".join(f"{n},{50 + n},{10 + n}\n" for n in range(101))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "deep.csv").write_text(CSV)
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.jsonl").write_text('{"what": 1}\n')
    (tmp_path / "notes.pdf").write_text("no trace")
    (tmp_path / ".hidden.csv").write_text(CSV)
    return tmp_path


def text(app: BrowseApp, part: str) -> str:
    return "\n".join(plain(line) for line in app.screen.query_one(f"#browse-{part}", Rows).lines)


async def read(pilot: Pilot[Any]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_it_lists_and_describes(folder: Path) -> None:
    app = BrowseApp(folder)
    async with app.run_test(size=(120, 36)) as pilot:
        await read(pilot)
        listed = text(app, "list")
        assert "chat" in listed
        assert "inner/" in listed
        assert "▸ a.csv" in listed
        assert "notes.pdf" not in listed
        assert ".hidden" not in listed
        page = text(app, "page")
        assert "101 requests" in page
        assert "the whole trace, 01:40.0 long" in page
        assert "mean 100, p99 149" in page
        assert "prefix reuse: n/a" in page


async def test_it_opens_at_what_was_run_last(folder: Path) -> None:
    for at in ("chat", str(folder / "inner" / "deep.csv"), str(folder / "a.csv")):
        app = BrowseApp(folder, at=at)
        async with app.run_test(size=(80, 24)) as pilot:
            await read(pilot)
            assert f"▸ {Path(at).name}" in text(app, "list")
            await pilot.press("enter")
        assert app.return_value == Choice(at)


async def test_enter_gives_the_trace(folder: Path) -> None:
    app = BrowseApp(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await read(pilot)
        await pilot.press("enter")
    assert app.return_value == Choice(str(folder / "a.csv"))


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_all_keys_are_told_in_whole_words(folder: Path, width: int) -> None:
    app = BrowseApp(folder)
    async with app.run_test(size=(width, 24)) as pilot:
        await read(pilot)
        assert text(app, "footer").rstrip().endswith("  q quit")


async def test_a_window_by_keys_and_mouse(folder: Path) -> None:
    app = BrowseApp(folder)
    async with app.run_test(size=(120, 36)) as pilot:
        await read(pilot)
        await pilot.press("minus", "minus")
        assert "from 00:37.5 to 01:02.5: 25 requests" in text(app, "page")
        await pilot.press("right")
        assert "from 00:43.7 to 01:08.7" in text(app, "page")
        await pilot.press("0")
        assert "the whole trace" in text(app, "page")
        await pilot.press("-")
        await pilot.click(offset=(119, 6))  # right of the chart's end, so that the window stops there
        assert "to 01:40.0" in text(app, "page")
        await pilot.press("enter")
    assert app.return_value == Choice(str(folder / "a.csv"), 50.0, 50.0)


async def test_folders_open_and_errors_are_told(folder: Path) -> None:
    app = BrowseApp(folder)
    async with app.run_test(size=(100, 30)) as pilot:
        await read(pilot)
        await pilot.press("down")
        await read(pilot)
        assert "no known trace format" in text(app, "page")
        await pilot.press("enter", "minus")  # neither does anything here
        await pilot.press("up", "up", "enter")
        await read(pilot)
        assert "▸ deep.csv" in text(app, "list")
        await pilot.press("home", "pageup", "pageup")
        await read(pilot)
        assert app.entry.label == "article"
        await pilot.press("enter")
    assert app.return_value == Choice("article")


@pytest.mark.parametrize("key", ["q", "escape", "ctrl+c"])
async def test_leaving_gives_nothing(folder: Path, key: str) -> None:
    app = BrowseApp(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
    assert app.return_value is None


@pytest.mark.parametrize("size", [(60, 16), (200, 60), (30, 8)])
async def test_any_size(folder: Path, size: tuple[int, int]) -> None:
    app = BrowseApp(folder, ascii=True)
    async with app.run_test(size=size) as pilot:
        await read(pilot)
        assert "a.csv" in text(app, "list")


def test_windows_stay_inside() -> None:
    window = Window().scaled(0.25)
    assert window.moved(99).end == 1.0
    assert window.moved(-99).start == 0.0
    assert window.scaled(99).whole
    assert window.around(0.5).start == pytest.approx(0.375)
