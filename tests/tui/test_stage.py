"""The stage: what keys do to a run, without a screen."""

from __future__ import annotations

import gc
import math

import pytest

from kvtui.answers.report import summary
from kvtui.comparison.experiment import Experiment
from kvtui.errors import ConfigError
from kvtui.tui.stage import SPEEDS, Stage
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run
from kvtui.tui.view.summary import summary_lines
from tests.tui.stagecraft import small, still


def test_the_heading_says_what_is_replayed_on_what() -> None:
    heading = Stage(small(), speed=1.0).scene().heading
    assert (heading.trace, heading.gpu, heading.seed, heading.requests) == ("small", "A10G 24 GB", 1, 60)
    assert heading.model.startswith("Llama-3.1-8B")
    assert 0 < heading.blocks * heading.block_size <= 4000
    assert Stage(small("paged", "paged:32"), speed=1.0).scene().heading.blocks == 0, "they differ"


def test_speeds_run_from_a_sixteenth_to_no_limit() -> None:
    stage = Stage(small(), speed=4.0)
    for _ in range(len(SPEEDS)):
        stage.change_speed(1)
    assert math.isinf(stage.player.clock.speed)
    assert stage.speed_text() == "max"
    for _ in range(len(SPEEDS)):
        stage.change_speed(-1)
    assert stage.player.clock.speed == 1 / 16


@pytest.mark.parametrize(
    ("odd", "up", "down"), [(3.0, 8.0, 2.0), (1000.0, math.inf, 64.0), (0.001, 1 / 8, 1 / 16)]
)
def test_from_a_speed_of_ones_own_it_goes_on_to_the_usual_ones(odd: float, up: float, down: float) -> None:
    for by, expected in ((1, up), (-1, down)):
        stage = Stage(small(), speed=odd)
        stage.change_speed(by)
        assert stage.player.clock.speed == expected


@pytest.mark.parametrize(
    ("wanted", "reached", "text"),
    [
        (4.0, None, "4.0x"),
        (4.0, 3.9, "4.0x"),
        (4.0, 4.3, "4.0x"),
        (64.0, 31.2, "31x of 64x"),
        (math.inf, 212.0, "212x max"),
    ],
)
def test_the_speed_that_is_really_reached_is_shown(
    wanted: float, reached: float | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(small(), speed=wanted)
    monkeypatch.setattr(stage.player, "reached", lambda: reached)
    assert stage.speed_text() == text


def test_a_change_keeps_speed_and_pause_is_over() -> None:
    stage = Stage(small(), speed=16.0)
    stage.toggle_pause()
    stage.next_block_size()
    assert stage.player.clock.speed == 16.0
    assert stage.run is Run.RUNNING
    assert stage.player.clock.now_ps == 0


def test_a_setting_that_cannot_be_is_refused_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(small(), speed=1.0)
    before = stage.experiment

    def refuse(*changed: object) -> Experiment:
        raise ConfigError("a block of 32 tokens is more than the pool")

    monkeypatch.setattr("kvtui.tui.stage._with_lane", refuse)
    assert stage.next_block_size() == "a block of 32 tokens is more than the pool"
    assert stage.experiment is before
    assert stage.player.frame(1).step == 0


def test_holding_lets_go_only_of_what_it_held() -> None:
    stage = Stage(small(), speed=1.0)
    stage.hold(True)
    assert stage.run is Run.PAUSED
    stage.hold(False)
    assert stage.run is Run.RUNNING
    stage.toggle_pause()
    stage.hold(True)
    stage.hold(False)
    assert stage.run is Run.PAUSED


def test_a_scene_is_the_same_until_something_has_happened() -> None:
    stage = Stage(small(), speed=1.0)
    stage.toggle_pause()
    first = stage.scene()
    assert first.same(stage.scene())
    assert not first.same(None)
    stage.step()
    assert not first.same(stage.scene())
    second = stage.scene()
    stage.focus = 0
    assert not second.same(stage.scene())


async def test_the_screen_and_the_headless_json_say_the_same() -> None:
    experiment = small()
    stage = Stage(experiment, speed=math.inf)
    await stage.player.run()
    shown = stage.scene()
    page = "\n".join(plain(line) for line in summary_lines(shown, Look(), width=120))

    lanes = experiment.build(watched=False)
    for lane in lanes:
        lane.run()
    whole = summary(experiment, lanes)
    assert whole["verdict"] in " ".join(page.split())
    reports = whole["lanes"]
    for frame, report in zip(shown.frames, reports, strict=True):
        counters = frame.counters
        assert (counters.batch_peak, round(counters.batch_mean, 6)) == (
            report["batch"]["peak"],
            report["batch"]["mean"],
        )
        assert counters.preemptions == report["requests"]["preemptions"]
        assert round(frame.time_s, 6) == report["time_s"]
        assert frame.step == report["steps"]
        for name in ("ttft", "tpot", "e2e"):
            percentiles = getattr(counters, name)
            assert round(percentiles.p99, 6) == report["latency"][f"{name}_s"]["p99"]
        assert formats.count(report["throughput"]["output_tokens_per_s"]) in page
        assert formats.clock(report["time_s"]) in page


@pytest.mark.parametrize(
    "lanes", [("contiguous", "paged"), ("paged", "paged:32"), ("contiguous", "paged", "paged:64")]
)
def test_another_manager_leaves_every_lane_a_title_of_its_own(lanes: tuple[str, ...]) -> None:
    stage = Stage(small(*lanes), speed=1.0)
    for focus in (*range(len(lanes)), 0):
        stage.focus = focus
        for _ in range(4):
            stage.next_manager()
            titles = [info.title for info in stage.lanes]
            assert len(set(titles)) == len(lanes), titles


def test_another_manager_keeps_the_names_that_were_given() -> None:
    stage = Stage(small("contiguous:name=Mine", "paged"), speed=1.0)
    stage.next_manager()
    assert [info.name for info in stage.lanes] == ["Mine", "contiguous"]


async def test_playing_anew_before_it_began_leaves_nothing_waiting(
    recwarn: pytest.WarningsRecorder,
) -> None:
    app = still()
    async with app.run_test(size=(100, 30)) as pilot:
        app.main.play()
        app.main.play()
        await pilot.pause()
        gc.collect()
    assert [str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)] == []
