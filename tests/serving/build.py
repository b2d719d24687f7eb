"""Small engines by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvtui.frames.camera import Camera
from kvtui.frames.frame import Frame
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.rules import Rules
from kvtui.timing.roofline import LinearCost
from kvtui.traces.workload import Workload

S = 1_000_000_000  # ns
Ask = tuple[float, int, int]  # arrival in seconds, prompt, output


def workload(asks: Sequence[Ask], *, shared: int = 0, unit: int = 16) -> Workload:
    """Requests in order of arrival; the first `shared` tokens of all prompts are the same."""
    n = len(asks)
    units = shared // unit if shared else 0
    own = [[i * 1000 + 10_000 + u for u in range(a[1] // unit - units)] for i, a in enumerate(asks)]
    chains = [[*range(units), *rest] if shared else [] for rest in own]
    return Workload(
        name="by hand",
        format="by hand",
        arrival_ns=np.array([round(a[0] * S) for a in asks], np.int64),
        prompt=np.array([a[1] for a in asks], np.int64),
        output=np.array([a[2] for a in asks], np.int64),
        line=np.arange(1, n + 1),
        unit=unit if shared else 0,
        chain=np.array([u for chain in chains for u in chain], np.int64),
        chain_start=np.cumsum([0, *map(len, chains)]),
        identified=np.array([len(chain) * unit for chain in chains], np.int64),
    )


def paged(
    load: Workload, blocks: int, *, block_size: int = 16, max_len: int = 100_000, budget: int = 2048
) -> Engine:
    manager = PagedMemoryManager(blocks * block_size, block_size)
    return Engine(load, Rules(max_len, max_num_batched_tokens=budget), manager, LinearCost())


def contiguous(load: Workload, slots: int, max_len: int, *, unit: int = 1) -> Engine:
    manager = ContiguousMemoryManager(slots, max_len, unit)
    return Engine(load, Rules(max_len), manager, LinearCost())


def frames(engine: Engine) -> list[Frame]:
    """A frame after every step."""
    camera = Camera(engine, engine.manager)
    pictures = []
    while engine.step():
        pictures.append(camera.frame())
    return [*pictures, camera.frame()]


def outside_rounds(engine: Engine, limit: int) -> bool:
    """In place of `Engine.step`, where a run has to consist of rounds."""
    raise AssertionError(f"step {engine.scheduler.step} is no part of a round")
