"""The key `end` where everything has been run: the run is over there."""

from __future__ import annotations

import pytest

from kvtui.comparison.checkpoints import EVERY
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.recording import Recording
from tests.recording.films import filmed
from tests.tui.stagecraft import run_out, small, stand_at, still
from tests.tui.test_screen import text


@pytest.mark.parametrize("what", ["recording", "run"])
async def test_at_the_end_of_all_it_has_ended(what: str) -> None:
    played: Recording | Experiment = Recording(filmed()) if what == "recording" else small(requests=150)
    app = still(played)
    async with app.run_test(size=(120, 36)) as pilot:
        if what == "run":
            run_out(app)
            await pilot.press("home")
        await pilot.press("end")
        await pilot.pause(0.2)
        assert " ENDED " in text(app, "header")
        assert "to go" not in text(app, "caption")


async def test_of_a_run_that_goes_on_the_end_is_where_it_has_been() -> None:
    app = still(small(requests=150))
    async with app.run_test(size=(120, 36)) as pilot:
        stand_at(app, 2.0)
        reached = app.stage.player.furthest_ps
        steps = [frame.step for frame in app.stage.scene().frames]
        await pilot.press("home", "end")
        await pilot.pause(0.1)
        assert app.stage.player.clock.now_ps == reached
        assert [frame.step for frame in app.stage.scene().frames] == steps


async def test_back_to_the_end_after_a_jump_little_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = still(small(requests=600))
    async with app.run_test(size=(120, 36)) as pilot:
        run_out(app)
        shown = [text(app, f"lane-{lane}-0") for lane in range(2)]
        await pilot.press("home")
        ran = []
        step = Lane.step
        monkeypatch.setattr(Lane, "step", lambda lane, *limit: ran.append(lane) or step(lane, *limit))
        await pilot.press("end")
        assert len(ran) < 2 * EVERY < sum(lane.step_count for lane in app.stage.player.lanes) / 2
        assert [text(app, f"lane-{lane}-0") for lane in range(2)] == shown
