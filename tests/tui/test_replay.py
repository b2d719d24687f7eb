"""A recording on the screen: what the run showed, with all of time travel."""

from __future__ import annotations

import math
from io import FileIO
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.recording import Recording
from kvtui.recording.filming import Filming
from kvtui.tui.app import KvtuiApp
from kvtui.tui.stage import Stage
from kvtui.tui.view.scene import Run
from tests.recording.films import filmed
from tests.tui.stagecraft import run_out, small, stand_at, still
from tests.tui.test_screen import SIZE, text
from tests.tui.test_timetravel import frames, same, settle


def replayed() -> Stage:
    stage = Stage(Recording(filmed()), speed=1.0)
    stage.toggle_pause()
    return stage


def simulated() -> Stage:
    stage = Stage(small(requests=150), speed=1.0)
    stage.toggle_pause()
    return stage


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_replay_goes_where_the_run_goes(data: st.DataObject) -> None:
    stages = replayed(), simulated()
    for move in data.draw(st.lists(st.sampled_from(["step", "back", "seek"]), max_size=8)):
        time_s = data.draw(st.floats(0, 12))
        for stage in stages:
            match move:
                case "step":
                    stage.step()
                case "back":
                    stage.back()
                case "seek":
                    stage.go_to(time_s)
            settle(stage)
        same(frames(stages[0]), frames(stages[1]))
        assert stages[0].scene().time_s == stages[1].scene().time_s


async def test_it_plays_to_the_end_and_says_what_the_run_said() -> None:
    stages = Stage(Recording(filmed()), speed=math.inf), Stage(small(requests=150), speed=math.inf)
    for stage in stages:
        await stage.player.run()
    replay, run = (stage.scene() for stage in stages)
    same(replay.frames, run.frames)
    assert (replay.run, replay.verdict, replay.heading) == (Run.ENDED, run.verdict, run.heading)


async def test_the_screen_of_a_recording() -> None:
    apps = still(Recording(filmed())), still(small(requests=150))
    shown = []
    for app in apps:
        async with app.run_test(size=SIZE) as pilot:
            stand_at(app, 2.5)
            await pilot.press("right", "right", "left")
            shown.append([text(app, name) for name in ("header", "lane-0-1", "lane-1-1", "caption")])
            for key in ("m", "b"):
                await pilot.press(key)
                if app is apps[0]:
                    assert "recording" in text(app, "caption")
                    assert app.stage.player.clock.now_ps, "and nothing starts again"
    assert shown[0] == shown[1]


async def test_what_is_recorded_on_screen_is_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    experiment = small(requests=150)
    app = KvtuiApp(experiment, filming=Filming(path, experiment))
    app.stage.player.pause()
    async with app.run_test(size=SIZE) as pilot:
        assert "● rec" in text(app, "header")
        stand_at(app, 2.0)
        await pilot.press("left", "left", "home", "end", "r")
        app.stage.player.pause()
        run_out(app)
        await pilot.pause()
        assert "● rec" not in text(app, "header"), "the run is over, the file is closed"
    for mine, theirs in zip(Recording(path).tracks, Recording(filmed()).tracks, strict=True):
        assert [mine.piece(at)[1:5] for at in range(len(mine))] == [
            theirs.piece(at)[1:5] for at in range(len(theirs))
        ]


async def test_a_changed_run_ends_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    experiment = small()
    app = KvtuiApp(experiment, filming=Filming(path, experiment))
    app.stage.player.pause()
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 1.0)
        await pilot.press("b")
        assert "recording ends" in text(app, "caption")
        app.stage.player.pause()
        stand_at(app, 3.0)
    recording = Recording(path)
    last = recording.tracks[0].piece(len(recording.tracks[0]) - 1)
    assert 1.0 <= last.now_ps / 1e12 < 1.2
    assert recording.report is not None


async def test_a_full_disk_ends_the_recording_and_not_the_run(tmp_path: Path) -> None:
    experiment = small()
    filming = Filming(tmp_path / "run.kvtui", experiment)
    app = KvtuiApp(experiment, filming=filming)
    app.stage.player.pause()
    async with app.run_test(size=SIZE) as pilot:
        filming._recorder._file = FileIO("/dev/full", "w")  # type: ignore[union-attr]
        await pilot.press("right")
        await pilot.pause(0.2)
        assert "recording" in text(app, "caption")
        assert "● rec" not in text(app, "header")
        await pilot.press("right")
        assert app.stage.player.failures == [None, None]
        assert "step 2" in text(app, "lane-1-0")
