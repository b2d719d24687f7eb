"""Lanes that come, go, branch off and lead while a run goes on, and the page of settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.comparison.branching import branch
from kvtui.comparison.lanes import LaneSpec
from kvtui.frames.blank import blank
from kvtui.recording import Recording
from kvtui.recording.filming import Filming
from kvtui.tui.app import KvtuiApp
from kvtui.tui.stage import Stage
from tests.recording.films import filmed
from tests.tui.stagecraft import small, stand_at, still
from tests.tui.test_screen import SIZE, text
from tests.tui.test_timetravel import frames, same, settle


def standing(time_s: float = 3.0) -> Stage:
    stage = Stage(small(requests=150), speed=1.0)
    stage.toggle_pause()
    stage.go_to(time_s)
    settle(stage)
    return stage


def test_a_lane_that_joins_catches_up_and_the_others_stand() -> None:
    stage = standing()
    before, now = frames(stage), stage.player.clock.now_ps
    assert "Paged-32 joins" in stage.add_lane(LaneSpec.parse("paged:32"))
    settle(stage)
    same(frames(stage)[:2], before)
    alone = small("paged:32", requests=150).build()[0]
    while alone.next_ps < now and alone.step():
        pass
    same(frames(stage)[2:], (alone.frame(),))
    assert stage.focus == 2
    stage.remove_lane()
    same(frames(stage), before)


def test_four_lanes_are_the_most_and_one_the_least() -> None:
    stage = standing(0.5)
    for _ in range(2):
        stage.add_lane(LaneSpec("paged"))
    assert "do not fit" in stage.add_lane(LaneSpec("paged"))
    names = [info.name for info in stage.lanes]
    assert len(set(names)) == 4, names
    for _ in range(3):
        stage.remove_lane()
    assert "cannot be removed" in stage.remove_lane()
    assert len(stage.lanes) == 1


def test_the_baseline_is_the_first_lane_and_ratios_follow() -> None:
    stage = standing()
    contiguous, paged = frames(stage)
    stage.focus = 1
    stage.make_baseline()
    assert [info.name for info in stage.lanes] == ["paged", "contiguous"]
    same(frames(stage), (paged, contiguous))
    assert [spec.name for spec in stage.experiment.lanes] == ["paged", "contiguous"]


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_step_back_seek_and_branch_land_on_frames_of_a_straight_run(data: st.DataObject) -> None:
    experiment = small("paged", requests=150)
    stage = Stage(experiment, speed=1.0)
    stage.toggle_pause()
    branched: list[int] = []
    for move in data.draw(
        st.lists(st.sampled_from(["step", "back", "seek", "branch"]), min_size=3, max_size=8)
    ):
        match move:
            case "step":
                stage.step()
            case "back":
                stage.back()
            case "seek":
                stage.go_to(data.draw(st.floats(0, 8)))
            case "branch" if len(stage.lanes) < 3:
                stage.focus = 0
                stage.branch(LaneSpec.parse("paged:64"))
                branched.append(stage.player.clock.now_ps)
        settle(stage)
        now = stage.player.clock.now_ps
        straight = experiment.build()[0]
        while straight.next_ps < now and straight.step():
            pass
        expected = [straight.frame()]
        for start in branched:
            lane = experiment.build()[0]
            while lane.next_ps < start and lane.step():
                pass
            lane = branch(lane, experiment, LaneSpec.parse("paged:64"))
            if now < start:
                expected.append(blank(lane.info))
                continue
            while not lane.done and lane.next_ps < now and lane.step():
                pass
            expected.append(lane.frame())
        same(frames(stage), tuple(expected))


async def test_keys_add_branch_remove_and_lead() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(200, 60)) as pilot:
        stand_at(app, 3.0)
        await pilot.press("f")
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert "Paged-128" in text(app, "lane-2-0")
        assert "branches off here" in text(app, "caption")
        assert app.stage.scene().frames[2].counters.running == 0
        await pilot.press("colon", "1", "enter")
        card = "\n".join(text(app, f"lane-2-{area}") for area in range(3))
        assert "peak n/a" in card
        assert "%" not in card, "no share of what is not there"
        await pilot.press("S")
        assert "n/a" in text(app, "page-text")
        await pilot.press("escape", "end")
        await pilot.press("right")
        assert app.stage.scene().frames[2].counters.running > 0
        await pilot.press("equals_sign")
        assert "Paged-128" in text(app, "lane-0-0")
        await pilot.press("1", "D")
        assert len(app.stage.lanes) == 2
        assert not app.main.board.lanes[2].grid.display
        now = app.stage.scene().time_s
        await pilot.press("a", *"64", "enter")
        for _ in range(100):
            await pilot.pause(0.02)
            if not app.stage.player.lagging:
                break
        assert "Paged-64" in text(app, "lane-2-0")
        assert app.stage.scene().time_s == now, "it has caught up, the others have not moved"
        await pilot.press("a", "x", "enter")
        assert app.screen is not app.main, "it asks again"
        await pilot.press("escape")


async def test_lanes_that_join_are_recorded(tmp_path: Path) -> None:
    path, experiment = tmp_path / "run.kvtui", small()
    app = KvtuiApp(experiment, filming=Filming(path, experiment))
    app.stage.player.pause()
    async with app.run_test(size=SIZE):
        stand_at(app, 1.0)
        app.main.begin(app.stage.branch(LaneSpec.parse("paged:64")))
        stand_at(app, 2.0)
        app.stage.stop_filming()
    recording = Recording(path)
    assert [track.info.name for track in recording.tracks] == ["contiguous", "paged", "paged-64"]
    assert recording.tracks[2].piece(0).now_ps >= 1e12
    replay = Stage(recording, speed=1.0)
    replay.toggle_pause()
    replay.go_to(1.8)
    assert len(frames(replay)) == 3


async def test_the_settings_say_what_they_do_and_run_with_what_was_changed() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(80, 24)) as pilot:
        stand_at(app, 2.0)
        await pilot.press("o")
        page = text(app, "page-text")
        for word in ("manager", "block size", "prefix cache", "requests at once", "↻", "Tokens a block"):
            assert word in page
        await pilot.press("down", "right", "escape")
        assert app.stage.player.clock.now_ps, "left as it was"
        await pilot.press("o", "j", "l", "enter")
        await pilot.pause()
        assert app.stage.experiment.lanes[1].block_size == 32
        assert "starts again" in text(app, "caption")
        await pilot.press("o", "tab")
        assert "reserve" in text(app, "page-text")
        await pilot.press("down", "right", "k", "k", "h", "enter")
        await pilot.pause()
        assert app.stage.experiment.lanes[0].reserve == "pow2"
        assert app.stage.experiment.async_scheduling


@pytest.mark.parametrize("key", ["o", "a", "f", "D", "equals_sign"])
async def test_in_a_recording_nothing_can_be_changed(key: str) -> None:
    app = still(Recording(filmed()))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 1.0)
        await pilot.press(key)
        assert "recording" in text(app, "caption")
        assert len(app.stage.lanes) == 2


def test_lanes_that_differ_in_the_prefix_cache_alone_say_so() -> None:
    infos = Stage(small("paged", "paged:prefix_cache=off"), speed=1.0).lanes
    assert [info.name for info in infos] == ["paged-cached", "paged-nocache"]
    assert infos[1].subtitle == "16-token blocks, no prefix cache"
