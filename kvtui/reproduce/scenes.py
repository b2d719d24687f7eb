"""Reproductions to watch: the systems of a figure side by side on its workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.reproduce.paper import SLOTS
from kvtui.reproduce.settings import Settings
from kvtui.traces.published import LIMIT, poisson
from kvtui.traces.workload import Workload

SECONDS = 600.0  # of arrivals
ALL = ("orca:max", "orca:pow2", "orca:oracle", "vllm-sosp")


def scene(name: str, settings: Settings) -> Experiment:
    """The experiment of a figure. Raises ConfigError for one that has nothing to watch."""
    short = name.rpartition(".")[2]
    if short not in SCENES:
        raise ConfigError(f"{name} has nothing to watch", hint=f"these have: {', '.join(SCENES)}")
    return SCENES[short](settings)


def _experiment(workload: Workload, lanes: tuple[str, ...], *, slots: int = SLOTS) -> Experiment:
    model, gpu = catalogue.model("opt-13b"), catalogue.gpu("a100-40")
    specs = tuple(LaneSpec.parse(lane) for lane in lanes)
    return Experiment(workload, model, gpu, specs, slots=slots, max_len=LIMIT, seed=0)


def _sharegpt(settings: Settings, *, rate: float) -> Workload:
    lengths, _ = settings.sharegpt()
    return poisson("ShareGPT", lengths, rate=rate, seconds=SECONDS, seed=0)


def _alpaca(settings: Settings, *, rate: float) -> Workload:
    lengths, _ = settings.alpaca()
    return poisson("Alpaca", lengths, rate=rate, seconds=SECONDS, seed=0)


def _waste(settings: Settings) -> Experiment:
    return _experiment(_sharegpt(settings, rate=4), ALL)


def _batch(settings: Settings) -> Experiment:
    return _experiment(_sharegpt(settings, rate=2), ALL)


def _many(settings: Settings) -> Experiment:
    return _experiment(_alpaca(settings, rate=30), ALL)


def _static(settings: Settings) -> Experiment:
    return _experiment(_sharegpt(settings, rate=1), ("static", "orca:max", "vllm-sosp"))


def _sampled(settings: Settings) -> Experiment:
    load = _alpaca(settings, rate=20)
    return _experiment(replace(load, samples=np.full(len(load), 6)), ("orca:oracle", "vllm-sosp"))


def _searched(settings: Settings) -> Experiment:
    load = _sharegpt(settings, rate=1)
    return _experiment(replace(load, beams=np.full(len(load), 4)), ("orca:oracle", "vllm-sosp"))


def _swapped(settings: Settings) -> Experiment:
    lanes = (
        "vllm-sosp:recompute,name=recompute",
        "vllm-sosp:swap,name=swap-16",
        "vllm-sosp:swap,1,name=swap-1",
    )
    return _experiment(_sharegpt(settings, rate=4), lanes)


SCENES: dict[str, Callable[[Settings], Experiment]] = {
    "fig2": _waste,
    "fig12a": _static,
    "fig13a": _batch,
    "fig13b": _many,
    "fig15": _sampled,
    "text63": _searched,
    "fig19": _swapped,
}
