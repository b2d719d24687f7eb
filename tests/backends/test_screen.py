"""The screen of lanes that are carried out: it waits for the device and for nothing else."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kvtui.tui.app import KvtuiApp
from kvtui.tui.view.device import device_lines
from kvtui.tui.view.layout import plan_for
from kvtui.tui.view.scene import Run
from tests.backends.runs import experiment, on_cpu
from tests.backends.tensors import torch  # noqa: F401, skips without torch

pytestmark = pytest.mark.torch


def text_of(lines: Any) -> str:
    return "\n".join("".join(part[0] for part in line) for line in lines)


async def until_ended(app: KvtuiApp, pilot: Any) -> None:
    for _ in range(2000):
        if app.stage.player.ended:
            return
        await pilot.pause(0.05)


async def test_a_run_is_shown_to_its_end_and_again() -> None:
    app = KvtuiApp(on_cpu(experiment(requests=6), verify=3), speed=64.0)
    async with app.run_test(size=(120, 36)) as pilot:
        for _ in range(2):
            await until_ended(app, pilot)
            scene = app.stage.scene()
            assert [frame.done for frame in scene.frames] == [True, True]
            assert scene.failures == (None, None)
            assert scene.heading.label == "measured"
            assert "2.0x" in scene.verdict or "x)" in scene.verdict
            assert scene.device is not None
            assert scene.device.failed == 0
            assert scene.device.checked > 20
            assert (scene.device.process_bytes or 0) > scene.device.pool_bytes
            panel = text_of(device_lines(scene, width=70, height=10))
            assert "gather + SDPA, 1 of 22 layers" in panel
            assert f"{scene.device.checked:,}, 0 wrong" in panel
            await pilot.press("r")
        await pilot.press("m")
        await pilot.pause(0.1)
        assert "measured" in app.stage.lanes[1].subtitle
        await pilot.press("q")
    app.stage.close()


async def test_no_key_waits_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is in the middle of a step for as long as the test likes."""
    from kvtui.backends.torch_lane import TorchLane

    original, going = TorchLane.duration, threading.Event()

    def stuck(self: TorchLane, engine: Any, plan: Any) -> int:
        going.wait(60)
        return original(self, engine, plan)

    monkeypatch.setattr(TorchLane, "duration", stuck)
    app = KvtuiApp(on_cpu(experiment(), verify=0), speed=64.0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2")
        await pilot.pause(0.2)
        assert app.stage.focus == 1
        assert [lane.step_count for lane in app.stage.player.lanes] == [0, 0]
        await pilot.press("space")
        assert app.stage.run is Run.PAUSED
        await pilot.press("space")
        going.set()
        await until_ended(app, pilot)
        assert app.stage.scene().frames[1].done
        await pilot.press("q")
    app.stage.close()


async def test_a_device_that_fails_stops_its_lanes_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_lane import TorchLane

    def gone(*args: Any) -> Any:
        raise RuntimeError("CUDA error: GPU is lost")

    monkeypatch.setattr(TorchLane, "forward", gone)
    monkeypatch.setattr(TorchLane, "warm_up", lambda self, engine: None)
    app = KvtuiApp(on_cpu(experiment("paged:backend=torch", "paged:block_size=16")), speed=64.0)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_ended(app, pilot)
        scene = app.stage.scene()
        assert "GPU is lost" in str(scene.failure(0))
        assert scene.frames[1].done
        await pilot.press("q")
    app.stage.close()


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 30), (120, 40), (200, 60)])
def test_the_panel_has_its_turn_on_every_screen(size: tuple[int, int]) -> None:
    plan = plan_for(*size, lanes=2, device=True)
    assert plan is not None
    assert plan.cycle[-1] == "device"
    assert plan_for(*size, lanes=2) == plan_for(*size, lanes=2, device=False)
    assert not set(plan.cycle) & set(plan.fixed)
