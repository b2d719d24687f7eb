"""Going back and forth in time, through the player and by keys: every moment looks as it did."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.events import MouseMove

from kvtui.frames.frame import EventKind, Frame
from kvtui.tui.app import KvtuiApp
from kvtui.tui.stage import Stage
from kvtui.tui.view.scene import Run
from tests.tui.stagecraft import run_out, small, stand_at, still
from tests.tui.test_screen import SIZE, text


def standing() -> Stage:
    stage = Stage(small(), speed=1.0)
    stage.toggle_pause()
    return stage


def frames(stage: Stage) -> tuple[Frame, ...]:
    return stage.scene().frames


def same(some: tuple[Frame, ...], others: tuple[Frame, ...]) -> None:
    for one, other in zip(some, others, strict=True):
        for name in Frame.__slots__:
            if name != "cells":
                assert getattr(one, name) == getattr(other, name), name
        for name in ("state", "owner", "stored", "refs"):
            assert np.array_equal(getattr(one.cells, name), getattr(other.cells, name)), name


def settle(stage: Stage) -> None:
    """What the loops do while nobody looks: lanes come up to the clock."""
    while stage.player.lagging:
        stage.player.level()


def test_steps_back_show_what_the_steps_on_showed() -> None:
    stage = standing()
    seen = [(stage.scene().time_s, frames(stage))]
    for _ in range(60):
        stage.step()
        settle(stage)
        seen.append((stage.scene().time_s, frames(stage)))
    for time_s, shown in reversed(seen[:-1]):
        stage.back()
        assert stage.scene().time_s == pytest.approx(time_s)
        same(frames(stage), shown)
    stage.back()
    assert stage.scene().time_s == 0, "there is nothing before the start"


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_way_through_time_shows_a_moment_as_it_was(data: st.DataObject) -> None:
    stage, straight = standing(), standing()
    moves = st.sampled_from(["step", "back", "seek", "start", "end", "next", "previous", "queue"])
    for move in data.draw(st.lists(moves, min_size=3, max_size=10)):
        match move:
            case "step":
                stage.step()
            case "back":
                stage.back()
            case "seek":
                stage.go_to(data.draw(st.floats(0, 12)))
            case "start":
                stage.go_to(0.0)
            case "end":
                stage.go_to_end()
            case "next":
                stage.next_event()
            case "queue":
                stage.next_event([EventKind.QUEUE])
            case "previous":
                stage.previous_event()
        settle(stage)
        now = stage.player.clock.now_ps
        if now < straight.player.clock.now_ps:
            straight = standing()
        straight.player.clock.now_ps = now
        settle(straight)
        same(frames(stage), frames(straight))


async def test_from_a_past_point_it_runs_to_the_same_end() -> None:
    stage = Stage(small(), speed=math.inf)
    await stage.player.run()
    end, verdict = frames(stage), stage.scene().verdict
    stage.go_to(5.0)
    assert stage.run is Run.PAUSED
    assert stage.scene().reached_s > 5.0
    stage.toggle_pause()
    await stage.player.run()
    same(frames(stage), end)
    assert stage.scene().verdict == verdict


async def test_keys_go_back_and_forth() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        for _ in range(3):
            await pilot.press("right")
        shown = text(app, "lane-1-0"), text(app, "header")
        await pilot.press("right", "left")
        assert (text(app, "lane-1-0"), text(app, "header")) == shown
        await pilot.press("comma")
        assert "step 2" in text(app, "lane-1-0")
        stand_at(app, 4.0)
        await pilot.press("home")
        assert "step 0" in text(app, "lane-1-0")
        await pilot.press("end")
        assert app.stage.scene().time_s == pytest.approx(4.0, abs=0.2)


async def test_back_while_it_runs_does_nothing_and_after_the_end_it_works() -> None:
    app = KvtuiApp(small(), speed=1e-9)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.1)
        await pilot.press("left")
        assert app.stage.run is Run.RUNNING
        run_out(app)
        last = max(app.stage.player.frame(at).step for at in range(2))
        await pilot.press("left")
        assert app.stage.run is Run.PAUSED
        assert max(app.stage.player.frame(at).step for at in range(2)) == last - 1
        app.stage.player.set_speed(math.inf)
        await pilot.press("space")
        for _ in range(100):
            if app.stage.player.ended:
                break
            await pilot.pause(0.02)
        assert max(app.stage.player.frame(at).step for at in range(2)) == last


async def test_n_looks_for_the_next_preemption_and_stands_on_it() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stops = []
        for _ in range(3):
            before = app.stage.scene().time_s
            await pilot.press("n")
            for _ in range(300):
                if _standing_on_an_event(app) and app.stage.scene().time_s > before:
                    break
                await pilot.pause(0.02)
            assert _standing_on_an_event(app)
            stops.append(app.stage.scene().time_s)
        assert stops == sorted(set(stops))
        await pilot.pause(0.1)
        assert app.stage.scene().time_s == stops[-1], "and there it stands"
        await pilot.press("N")
        assert app.stage.scene().time_s == stops[1]
        await pilot.press("N", "N")
        assert "before" in text(app, "caption")


def _standing_on_an_event(app: KvtuiApp) -> bool:
    told = (EventKind.PREEMPTED, EventKind.REJECTED)
    frames = app.stage.scene().frames
    return any(e.kind in told and e.step == frame.step for frame in frames for e in frame.events)


async def test_n_at_the_end_says_that_there_is_nothing_more() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        run_out(app)
        await pilot.press("n")
        await pilot.pause(0.1)
        words = "Nothing is preempted or rejected, nor a block of use to others evicted, in the rest"
        assert words in text(app, "caption")


@pytest.mark.parametrize("typed", ["0:03", "3", "3.0"])
async def test_a_colon_asks_for_a_time(typed: str) -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 6.0)
        await pilot.press(
            "colon", *("colon" if c == ":" else "full_stop" if c == "." else c for c in typed), "enter"
        )
        await pilot.pause(0.1)
        assert app.screen is app.main
        assert app.stage.player.clock.now_s == 3.0
        await pilot.press("colon", "x", "enter")
        assert app.screen is not app.main, "it asks again"
        await pilot.press("escape")
        await pilot.pause()
        assert app.stage.player.clock.now_s == 3.0
        await pilot.press("colon", "9", "enter")
        for _ in range(100):
            if app.screen is app.main and not app.stage.player.lagging:
                break
            await asyncio.sleep(0.02)
        assert app.stage.scene().time_s == pytest.approx(9.0, abs=0.2), "a time that was not reached before"


async def test_a_click_on_the_timeline_goes_there() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        run_out(app)
        end = app.stage.scene().end_s
        line = text(app, "timeline")
        first, head = line.index("━"), line.index("●")
        await pilot.click(offset=((first + head) // 2, 34))
        await pilot.pause()
        assert app.stage.player.clock.now_s == pytest.approx(end / 2, rel=0.03)
        assert app.stage.run is Run.PAUSED
        assert text(app, "timeline").index("●") == (first + head) // 2
        await pilot.click(offset=(2, 34))
        assert app.stage.player.clock.now_s == pytest.approx(end / 2, rel=0.03), "beside the line nothing"


async def test_dragging_along_the_timeline_goes_through_time() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        run_out(app)
        line = text(app, "timeline")
        first, head = line.index("━"), line.index("●")
        seen = []
        await pilot.mouse_down(offset=(first + 2, 34))
        for part in (0.25, 0.5, 0.75, 0.4):
            x = first + round((head - first) * part)
            await pilot._post_mouse_events([MouseMove], offset=(x, 20), button=1)
            await pilot.pause()
            assert text(app, "timeline").index("●") == x, "wherever the mouse is above the line"
            seen.append(app.stage.player.clock.now_s)
        whole = app.stage.scene().reached_s
        assert seen == [pytest.approx(whole * part, rel=0.05) for part in (0.25, 0.5, 0.75, 0.4)]
        await pilot.mouse_up(offset=(x, 20))
        await pilot._post_mouse_events([MouseMove], offset=(head, 34), button=0)
        await pilot.pause()
        assert app.stage.player.clock.now_s == seen[-1], "let go"


@pytest.mark.parametrize(
    ("key", "kind"), [("p", EventKind.PREEMPTED), ("w", EventKind.QUEUE), ("x", EventKind.REJECTED)]
)
async def test_keys_go_to_events_of_a_kind_and_back(key: str, kind: EventKind) -> None:
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        run_out(app)
        await pilot.press("home")
        told = [app.stage.chronicle(lane).moments([kind]).tolist() for lane in range(2)]
        moments = sorted({at + 1 for each in told for at in each})
        for at in moments[:2]:
            await pilot.press(key)
            assert app.stage.player.clock.now_ps == at
        if kind is EventKind.QUEUE:
            assert any(frame.counters.waiting for frame in app.stage.scene().frames)
        if len(moments) > 1:
            await pilot.press(key.upper())
            assert app.stage.player.clock.now_ps == moments[0]
        else:
            await pilot.press(key)
            assert "in the rest of the run" in text(app, "caption")
            await pilot.press(key.upper())
            assert "before" in text(app, "caption")


async def test_nothing_is_ever_copied_on_write_by_a_scheduler_that_never_forks() -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        run_out(app)
        await pilot.press("home", "y")
        assert "Nothing is copied on write in the rest" in text(app, "caption")
        await pilot.press("v")
        await pilot.press("V", "Y")
        assert "Nothing was copied on write before" in text(app, "caption")
