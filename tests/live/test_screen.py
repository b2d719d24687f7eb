"""Real servers on the screen: watched, frozen, gone, recorded and replayed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kvtui.comparison.heading import Heading
from kvtui.live.filming import LiveFilming
from kvtui.live.poll import attach
from kvtui.live.report import summary
from kvtui.live.session import Session
from kvtui.recording import Recording
from kvtui.tui.app import KvtuiApp
from kvtui.tui.liveshow import LiveShow
from tests.live.fake import Answers, serving, vllm_page

CONFIG = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="101"} 1\n'
SIZES = [(60, 16), (80, 24), (120, 36), (200, 60)]


@contextmanager
def session_of(*servers: Answers) -> Iterator[Session]:
    pollers = [attach(server.url, interval_s=0.05, timeout_s=0.5) for server in servers]
    session = Session(pollers, titles=[f"server {at}" for at in range(len(servers))])
    try:
        yield session
    finally:
        session.close()


@asynccontextmanager
async def screen(
    *servers: Answers, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[KvtuiApp, Pilot]]:
    with session_of(*servers) as session:
        session.start()
        app = KvtuiApp(LiveShow(session, Heading(trace="server 0", model="m", label="live")), speed=1.0)
        async with app.run_test(size=size) as pilot:
            yield app, pilot


def text_of(app: KvtuiApp) -> str:
    rows = [widget for widget in app.main.board if widget.display and hasattr(widget, "lines")]
    return "\n".join("".join(text for text, _ in line) for widget in rows for line in widget.lines)


async def seen(app: KvtuiApp, pilot: Pilot, words: str) -> str:
    """The text of the screen, once these words are on it."""
    for _ in range(200):
        await pilot.pause(0.02)
        app.main.paint()
        text = text_of(app)
        if words in text:
            return text
    raise AssertionError(f"{words!r} is not in\n{text}")


@pytest.mark.parametrize("size", SIZES)
async def test_every_size(server: Answers, size: tuple[int, int]) -> None:
    server.pages["/metrics"] = vllm_page(running=8, more=CONFIG)
    async with screen(server, size=size) as (app, pilot):
        text = await seen(app, pilot, "live")
        assert "in use" in text
        for _ in range(12):
            await pilot.press("tab")
            app.main.paint()


async def test_numbers_say_where_they_come_from(server: Answers) -> None:
    server.pages["/metrics"] = vllm_page(running=8, waiting=33, more=CONFIG)
    async with screen(server) as (app, pilot):
        text = await seen(app, pilot, "r reported, d derived")
        assert "54.7% r" in text
        assert "100 d" in text
        assert "prefix hits      n/a" in text
        assert "do not publish where blocks lie" in text
        server.pages["/metrics"] = vllm_page(running=9, waiting=0, tokens=5000, more=CONFIG)
        await seen(app, pilot, "running            9 r")


async def test_a_server_that_goes_and_comes_back(server: Answers) -> None:
    server.pages["/metrics"] = vllm_page(more=CONFIG)
    async with screen(server) as (app, pilot):
        await seen(app, pilot, "in use")
        server.pages["/metrics"] = 503
        await seen(app, pilot, "stale for")
        server.pages["/metrics"] = vllm_page(tokens=7, more=CONFIG)
        await seen(app, pilot, "server restarted")


async def test_a_server_that_comes_back_with_another_memory(server: Answers) -> None:
    server.pages["/metrics"] = vllm_page(running=8, more=CONFIG)
    async with screen(server) as (app, pilot):
        await seen(app, pilot, "100 blocks of 16")
        before = app.main.board.scale
        server.pages["/metrics"] = vllm_page(running=8, tokens=7, more=CONFIG.replace("101", "4001"))
        text = await seen(app, pilot, "4,000 blocks of 16")
        assert "memory is now 4,000 blocks" in text
        assert len(app.stage.scene().frames[0].cells.state) == 4000
        assert app.main.board.scale != before
        await pilot.press("space")
        for _ in range(200):
            if app.stage.scene().lanes[0].blocks == 100:
                break
            await pilot.press("left")
        app.main.paint()
        assert len(app.stage.scene().frames[0].cells.state) == 100
        assert "100 blocks of 16" in text_of(app)
        assert app.main.board.scale == before


async def test_pausing_freezes_the_view_and_not_the_watching(server: Answers) -> None:
    async with screen(server) as (app, pilot):
        await seen(app, pilot, "live")
        await pilot.press("space")
        frozen = app.stage.scene()
        server.pages["/metrics"] = vllm_page(running=7, tokens=2000)
        asked = len(server.asked)
        while len(server.asked) < asked + 3:
            await pilot.pause(0.02)
        assert app.stage.scene().frames[0] is frozen.frames[0]
        assert app.stage.scene().time_s == frozen.time_s
        await pilot.press("left")
        assert app.stage.scene().frames[0].step < frozen.frames[0].step
        await pilot.press("space")
        await seen(app, pilot, "running            7 r")


async def test_keys_that_change_a_run_say_why_not(server: Answers) -> None:
    async with screen(server) as (app, pilot):
        for key in ("m", "b", "r", "S", "n"):
            await pilot.press(key)
            words = "only watched here" if key in "mbr" else "real server"
            assert words in text_of(app).lower(), key
        assert not any(key in text_of(app) for key in ("manager", "run again", "summary"))


async def test_servers_side_by_side(server: Answers) -> None:
    slots = '[{"id": 0, "n_ctx": 4096, "is_processing": true, "n_prompt_tokens": 1000}]'
    server.pages["/metrics"] = vllm_page(more=CONFIG)
    with serving({"/slots": slots}) as llama:
        async with screen(server, llama) as (app, pilot):
            text = await seen(app, pilot, "llama.cpp, 1 slots")
            assert "held, empty" in text
            assert app.stage.lanes[1].region_blocks == 256


async def test_what_tells_nothing_is_shown_as_that() -> None:
    with serving({"/metrics": "tgi_batch_current_size 7\ntgi_queue_size 3\n"}) as tgi:
        async with screen(tgi) as (app, pilot):
            text = await seen(app, pilot, "publishes nothing about KV memory")
            assert "0.0%" not in text
    with serving({"/api/ps": '{"models": []}'}) as ollama:
        async with screen(ollama) as (app, pilot):
            text = await seen(app, pilot, "n/a")
            assert "running" in text


def test_a_recording_goes_on_when_the_memory_is_another(server: Answers, tmp_path: Path) -> None:
    server.pages["/metrics"] = vllm_page(usage=0.25, more=CONFIG)
    path = tmp_path / "live.kvtui"
    with session_of(server) as session:
        filming = LiveFilming(path, Heading("s", label="live"), [t.info for t in session.tapes], {})
        session.heard = filming.take
        session.start()
        server.pages["/metrics"] = vllm_page(usage=0.5, more=CONFIG.replace("101", "4001"))
        while session.tapes[0].info.blocks == 100:
            pass
    filming.finish({})
    track = Recording(path).tracks[0]
    assert track.info.blocks == 100
    held = [int((track.frame(at).cells.owner >= 0).sum()) for at in range(len(track))]
    assert (held[0], held[-1]) == (25, 50)


async def test_a_recording_of_servers_is_a_recording(server: Answers, tmp_path: Path) -> None:
    server.pages["/metrics"] = vllm_page(running=8, more=CONFIG)
    path = tmp_path / "live.kvtui"
    heading = Heading(trace="server 0", model="m", label="live")
    with session_of(server) as session:
        first = [tape.seen(0).snapshot for tape in session.tapes]
        filming = LiveFilming(path, heading, [tape.info for tape in session.tapes], summary(first))
        session.heard = filming.take
        session.start()
        while session.tapes[0].newest < 5:
            server.pages["/metrics"] = vllm_page(running=session.tapes[0].newest, more=CONFIG)
    recording = Recording(path)  # as after a crash: without its end
    frame = recording.tracks[0].frame(len(recording.tracks[0]) - 1)
    assert frame.counters.rejected is None
    assert frame.counters.split.cached is None
    assert frame.counters.split.stored == pytest.approx(54.7)
    filming.finish(summary(first))
    for size in SIZES:
        app = KvtuiApp(Recording(path), speed=float("inf"))
        async with app.run_test(size=size) as pilot:
            await seen(app, pilot, "ENDED")
            await pilot.press("home", "tab")
            await seen(app, pilot, "Recorded from real servers" if size[1] > 16 else "live")
