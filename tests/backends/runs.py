"""Small experiments on real tensors: TinyLlama's attention, a handful of requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.traces.workload import Workload
from tests.backends.tensors import torch  # noqa: F401, skips without torch

LANES = ("contiguous:backend=torch", "paged:backend=torch")


def workload(requests: int = 8) -> Workload:
    """Everybody at once; every second prompt begins like all others."""
    numbers = np.arange(requests)
    prompt = 20 + 13 * (numbers % 4)
    units = np.repeat(2 * (1 - numbers % 2), 1)
    chains = [[1, 2] if n else [] for n in units]
    return Workload(
        name="small",
        format="test",
        arrival_ns=np.zeros(requests, np.int64),
        prompt=prompt,
        output=6 + 5 * (numbers % 3),
        line=numbers + 1,
        unit=8,
        chain=np.array([c for chain in chains for c in chain], np.int64),
        chain_start=np.concatenate([[0], np.cumsum([len(c) for c in chains])]),
        identified=np.where(units, 16, 0),
    )


def experiment(*lanes: str, requests: int = 8, **options: Any) -> Experiment:
    specs = tuple(LaneSpec.parse(text, default=LaneSpec("", block_size=8)) for text in lanes or LANES)
    defaults = {"slots": 256, "max_len": 128}
    return Experiment(
        workload(requests),
        catalogue.model("tinyllama-1.1b"),
        catalogue.gpu("a10g"),
        specs,
        **(defaults | options),
    )


def on_cpu(tried: Experiment, **settings: Any) -> Experiment:
    """The experiment with the CPU for its device."""
    from kvtui.backends.torch_backend import Settings, TorchBackend

    settings = {"device": "cpu", "verify": 1} | settings
    table = settings.pop("table", None)
    backend = TorchBackend(tried.model, Settings(**settings), table=table)
    return backend.fit(tried, asked=tried.slots is not None)


def plain(tried: Experiment) -> Experiment:
    """The same, simulated."""
    return replace(tried, backend=None, lanes=tuple(s._replace(backend="simulated") for s in tried.lanes))
