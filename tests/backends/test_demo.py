"""The demonstration takes the best device there is, plays in a loop and ends clean."""

from __future__ import annotations

from typing import Any

import pytest

from kvtui.backends import torch_device
from kvtui.cli import demo
from kvtui.errors import BackendUnavailable
from kvtui.tui import demo as demo_screen
from kvtui.tui.demo import DemoApp
from kvtui.tui.pages import SummaryPage
from tests.tui.stagecraft import small


def test_without_torch_it_is_simulated_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch_device, "find_spec", lambda name: None)
    assert demo.experiment_for("auto", "auto").backend is None
    assert "simulated instead" in capsys.readouterr().err
    assert demo.experiment_for("simulated", "auto").label == "simulated"
    with pytest.raises(BackendUnavailable):
        demo.experiment_for("torch", "auto")


@pytest.mark.torch
def test_with_torch_pools_are_as_large_as_the_device_is_quick() -> None:
    pytest.importorskip("torch")
    tried = demo.experiment_for("auto", "cpu")
    assert tried.label == "measured"
    assert tried.slots is not None
    assert 4096 <= tried.slots <= 16384
    assert not tried.workload.arrival_ns.any()
    assert "all requests arrive at once" in tried.workload.assumed


class Watch:
    """A clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(demo_screen, "monotonic", lambda: self.now)


async def shown(app: DemoApp, pilot: Any, kind: type) -> bool:
    """Whether a page of that kind comes up."""
    for _ in range(600):
        if isinstance(app.screen, kind):
            return True
        await pilot.pause(0.05)
    return False


def app_of(experiment: Any = None, **options: Any) -> DemoApp:
    chosen = {
        "otherwise": small,
        "speed": 1e9,
        "loop_s": 300.0,
        "once": False,
        "theme": "dark",
        "ascii": False,
    } | options
    return DemoApp(experiment or small(requests=20), **chosen)


async def test_it_sums_up_and_plays_again(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, app = Watch(monkeypatch), app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(2):
            assert await shown(app, pilot, SummaryPage)
            played = app.stage.player
            watch.now += demo_screen.SUMMARY_S + 1
            assert await shown(app, pilot, type(app.main))
            assert app.stage.player is not played
        await pilot.press("q")
    assert app.return_code in (0, None)


async def test_once_it_leaves_when_the_loop_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, app = Watch(monkeypatch), app_of(once=True, speed=1 / 16)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.6)
        assert app.screen is app.main
        watch.now = 301.0
        assert await shown(app, pilot, SummaryPage)
        watch.now += demo_screen.SUMMARY_S + 1
        for _ in range(100):
            if app.return_code is not None or not app.is_running:
                break
            await pilot.pause(0.05)
    assert app.return_code == 0


async def test_whoever_pauses_keeps_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, app = Watch(monkeypatch), app_of(speed=1 / 16)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("space")
        watch.now = 1000.0
        await pilot.pause(1.2)
        assert app.screen is app.main
        await pilot.press("q")


@pytest.mark.torch
async def test_without_its_device_it_goes_on_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from kvtui.backends.torch_lane import TorchLane
    from tests.backends.runs import experiment, on_cpu

    def gone(*args: Any) -> Any:
        raise RuntimeError("CUDA error: GPU is lost")

    monkeypatch.setattr(TorchLane, "forward", gone)
    watch, app = Watch(monkeypatch), app_of(on_cpu(experiment()), otherwise=lambda: small(requests=20))
    async with app.run_test(size=(80, 24)) as pilot:
        assert await shown(app, pilot, SummaryPage)
        assert app.stage.scene().failures[0] == "CPU failed: CUDA error: GPU is lost"
        watch.now += demo_screen.SUMMARY_S + 1
        assert await shown(app, pilot, type(app.main))
        assert not app.stage.measured
        assert await shown(app, pilot, SummaryPage)
        assert app.stage.scene().failures == (None, None)
        await pilot.press("q")
