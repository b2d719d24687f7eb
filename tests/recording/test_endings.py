"""What a recording says at its end is said of its last frames, wherever the screen was left."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.comparison.heading import Heading
from kvtui.live.filming import LiveFilming
from kvtui.live.report import summary
from kvtui.recording import Recording
from kvtui.recording.filming import Filming
from kvtui.recording.report import report_of
from kvtui.tui.liveshow import LiveShow
from kvtui.tui.stage import Stage
from tests.live.fake import serving, vllm_page
from tests.live.test_screen import session_of
from tests.tui.stagecraft import small
from tests.tui.test_timetravel import settle


def filmed_stage(path: Path, *times_s: float) -> Stage:
    """A run that is recorded and taken to these times, one after the other."""
    experiment = small(requests=150)
    stage = Stage(experiment, speed=1.0, filming=Filming(path, experiment))
    stage.toggle_pause()
    for time_s in times_s:
        stage.go_to(time_s)
        settle(stage)
    return stage


def test_an_earlier_moment_is_not_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    filmed_stage(path, 6.0, 1.0).stop_filming()
    recording = Recording(path)
    assert recording.report is None
    for lane, track in zip(report_of(recording)["lanes"], recording.tracks, strict=True):
        assert lane["time_s"] == pytest.approx(6.0, abs=0.2)
        assert lane["steps"] == track.piece(len(track) - 1).step
        assert "ends before" in lane["notes"][-1]


def test_a_change_at_an_earlier_moment_does_not_end_it_there(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    assert "recording ends" in filmed_stage(path, 6.0, 1.0).next_block_size()
    assert Recording(path).report is None


@pytest.mark.parametrize("times_s", [(6.0,), (6.0, 1.0, 6.0)])
def test_where_the_recording_ends_the_run_speaks_for_itself(
    tmp_path: Path, times_s: tuple[float, ...]
) -> None:
    path = tmp_path / "run.kvtui"
    stage = filmed_stage(path, *times_s)
    lanes = stage._show.report(stage.player.lanes)["lanes"]
    stage.stop_filming()
    assert Recording(path).report is not None
    assert report_of(Recording(path))["lanes"] == lanes


def test_of_servers_the_last_look_is_reported(tmp_path: Path) -> None:
    path, heading = tmp_path / "live.kvtui", Heading(trace="server", label="live")
    with serving({"/metrics": vllm_page(running=8)}) as server, session_of(server) as session:
        (tape,) = session.tapes
        filming = LiveFilming(path, heading, [tape.info], summary([tape.seen(0).snapshot]))
        filming.take(0, tape.seen(0))
        stage = Stage(LiveShow(session, heading), speed=1.0, filming=filming)
        stage.stop_filming()
        assert filming.on, "whoever watches goes on to the last look"
        last = summary([tape.seen(tape.newest).snapshot])
        filming.finish(last)
    assert Recording(path).report == last
