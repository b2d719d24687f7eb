"""Real experiments on a screen that stands still where a test wants it."""

from __future__ import annotations

from functools import cache

import numpy as np

from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.player import Player
from kvtui.hardware import catalogue
from kvtui.traces import load
from kvtui.traces.synthetic import path_of, recipe
from kvtui.traces.workload import Workload
from kvtui.tui.app import KvtuiApp
from kvtui.units import picoseconds


@cache
def small_workload(requests: int = 60) -> Workload:
    """Sixty requests within three seconds: more than the pool of `small` holds."""
    rng = np.random.default_rng(1)
    arrival = np.sort(rng.integers(0, 3_000_000_000, requests))
    arrival[0] = 0
    return Workload(
        name="small",
        format="made",
        arrival_ns=arrival,
        prompt=rng.integers(20, 200, requests),
        output=rng.integers(5, 120, requests),
        line=np.zeros(requests, np.int64),
        max_len=512,
        slots=4000,
    )


def small(*lanes: str, requests: int = 60) -> Experiment:
    specs = tuple(LaneSpec.parse(text) for text in lanes or ("contiguous", "paged"))
    return Experiment(
        small_workload(requests), catalogue.model(DEFAULT_MODEL), catalogue.gpu(DEFAULT_GPU), specs, seed=1
    )


def chat() -> Experiment:
    """What `kvtui` without arguments shows."""
    workload = load(str(path_of("chat")))
    return Experiment(
        workload, catalogue.model(DEFAULT_MODEL), catalogue.gpu(DEFAULT_GPU), seed=recipe("chat").seed
    )


def still(experiment: Experiment | None = None, **options: object) -> KvtuiApp:
    """An app whose run moves only by steps and by `stand_at`."""
    app = KvtuiApp(experiment or small(), **options)
    app.stage.player.pause()
    return app


def stand_at(app: KvtuiApp, seconds: float) -> None:
    """Take all lanes to one virtual time and show it."""
    player: Player = app.stage.player
    target = picoseconds(seconds)
    for at, lane in enumerate(player.lanes):
        while not lane.done and lane.next_ps < target:
            player._one(at)
    player.clock.now_ps = max(target, player.clock.now_ps)
    app.main.paint()


def run_out(app: KvtuiApp) -> None:
    """Take all lanes to their end and show it."""
    stand_at(app, 1e6)
