"""Frames made by hand: a contiguous lane that is full at 19, and a paged one that holds 66."""

from __future__ import annotations

import numpy as np

from kvtui.comparison.heading import Heading
from kvtui.frames.counts import Counters, LaneInfo, Percentiles, Split
from kvtui.frames.frame import Cell, Cells, Event, EventKind, Frame, RunningRow, WaitingRow
from kvtui.tui.view.scene import Mark, Run, Scene

BLOCKS, BLOCK, REGION = 2500, 16, 128
POOL = BLOCKS * BLOCK

HEADING = Heading(
    trace="chat",
    model="Llama-3.1-8B bf16",
    gpu="A10G 24 GB",
    pool_bytes=POOL * 131072,
    blocks=BLOCKS,
    block_size=BLOCK,
    seed=7,
    requests=340,
)


def lane(manager: str, **changes: object) -> LaneInfo:
    region = REGION if manager == "contiguous" else None
    values = {
        "name": manager,
        "manager": manager,
        "title": manager.capitalize(),
        "subtitle": "reserves 2,048 each" if region else "16-token blocks",
        "blocks": BLOCKS,
        "block_size": BLOCK,
        "region_blocks": region,
        "pool_tokens": POOL,
        "pool_bytes": POOL * 131072,
        "label": "simulated",
    }
    return LaneInfo(**(values | changes))


def cells_of(
    state: np.ndarray, owner: np.ndarray, stored: np.ndarray, refs: np.ndarray | None = None
) -> Cells:
    refs = (np.asarray(owner) >= 0).astype(np.uint8) if refs is None else refs
    return Cells(
        np.asarray(state, np.uint8),
        np.asarray(owner, np.int32),
        np.asarray(stored, np.int32),
        np.asarray(refs, np.uint8),
    )


def contiguous_cells(*, requests: int = 19, seed: int = 7) -> Cells:
    """Regions of 128 blocks, each filled for a part; what is left over is a hole."""
    rng = np.random.default_rng(seed)
    state = np.full(BLOCKS, Cell.FREE, np.uint8)
    owner = np.full(BLOCKS, -1, np.int32)
    stored = np.zeros(BLOCKS, np.int32)
    for at in range(requests):
        start = at * REGION
        filled = int(rng.integers(60, 900))
        final = filled + int(rng.integers(20, 500))
        region = slice(start, start + REGION)
        slots = np.clip(filled - BLOCK * np.arange(REGION), 0, BLOCK)
        owner[region] = 130 + at
        stored[region] = slots
        needed = -(-final // BLOCK)
        state[region] = np.where(np.arange(REGION) < needed, Cell.HELD, Cell.NEVER)
    state[(owner < 0) & (requests >= BLOCKS // REGION)] = Cell.HOLE
    return cells_of(state, owner, stored)


def paged_cells(*, requests: int = 66, seed: int = 7) -> Cells:
    """Blocks handed out one by one, in no order; a few are free, the last of each request is part full."""
    rng = np.random.default_rng(seed)
    owner = rng.integers(213, 213 + requests, BLOCKS).astype(np.int32)
    owner[rng.choice(BLOCKS, 15, replace=False)] = -1
    state = np.where(owner < 0, Cell.FREE, Cell.HELD).astype(np.uint8)
    stored = np.where(owner < 0, 0, BLOCK).astype(np.int32)
    for request in range(213, 213 + requests):
        last = np.flatnonzero(owner == request)[-1]
        stored[last] = int(rng.integers(1, BLOCK))
    return cells_of(state, owner, stored)


NONE = Percentiles(None, None, None, None, 0)


def counters(**changes: object) -> Counters:
    values = {
        "running": 0,
        "waiting": 0,
        "preempted_waiting": 0,
        "finished": 0,
        "rejected": 0,
        "unfinished": 0,
        "preemptions": 0,
        "evictions": 0,
        "batch_peak": 0,
        "batch_mean": 0.0,
        "output_tokens": 0,
        "output_tokens_per_s": 0.0,
        "requests_per_s": 0.0,
        "query_tokens": 0,
        "hit_tokens": 0,
        "readmit_query_tokens": 0,
        "readmit_hit_tokens": 0,
        "split": Split(0, 0, 0, 0, 0, 0, 100),
        "split_mean": Split(0, 0, 0, 0, 0, 0, 100),
        "ttft": NONE,
        "tpot": NONE,
        "e2e": NONE,
    }
    return Counters(**(values | changes))


def curve(final: int, peak: int, *, end: float = 74.0) -> tuple[tuple[float, int], ...]:
    """A batch that rises to its peak, wavers and comes to `final`."""
    times = np.linspace(0, end, 120)
    shape = np.minimum(1, times / 30) * (0.72 + 0.06 * np.sin(times / 2)) + 0.3 * np.exp(
        -(((times - 67) / 4) ** 2)
    )
    values = np.minimum(peak, np.round(shape * peak)).astype(int)
    points = [(float(t), int(v)) for t, v in zip(times, values, strict=True)]
    return (*points[:-1], (end, final))


def contiguous_frame(**changes: object) -> Frame:
    count = counters(
        running=19,
        waiting=143,
        finished=131,
        unfinished=178,
        batch_peak=19,
        batch_mean=18.3,
        output_tokens=50_690,
        output_tokens_per_s=685.2,
        split=Split(19.1, 12.5, 65.7, 2.7, 0, 0, 0),
        ttft=Percentiles(17.5, 18.0, 30.1, 34.3, 150),
        tpot=Percentiles(0.0268, 0.0266, 0.029, 0.031, 131),
        e2e=Percentiles(30.0, 29.0, 50.0, 60.0, 131),
    )
    events = (
        Event(73.5, 2765, EventKind.FINISHED, 130, 357, 40_100),
        Event(73.5, 2765, EventKind.ADMITTED, 150, 178, 2048),
    )
    values = {
        "step": 2769,
        "time_s": 74.0,
        "done": False,
        "counters": count,
        "cells": contiguous_cells(),
        "waiting": tuple(WaitingRow(151 + at, 660 - 37 * at, 33.5 - 0.3 * at, False) for at in range(12)),
        "running": tuple(
            RunningRow(138 - at, 80, 179 + 31 * at, 201 + 45 * at, 259 + 31 * at, 2048) for at in range(12)
        ),
        "events": events,
        "batch": ((0.0, 0), (1.0, 4), (3.0, 12), (5.0, 19), (30.0, 18), (30.4, 19)),
        "mean_filled": 402.3,
    }
    return Frame(**(values | changes))


def paged_frame(**changes: object) -> Frame:
    count = counters(
        running=66,
        waiting=15,
        preempted_waiting=1,
        finished=212,
        unfinished=97,
        preemptions=8,
        batch_peak=86,
        batch_mean=53.4,
        output_tokens=89_466,
        output_tokens_per_s=1209.0,
        split=Split(98.0, 0, 0, 0, 1.4, 0, 0.6),
        ttft=Percentiles(0.11, 0.1, 0.15, 0.2, 279),
        tpot=Percentiles(0.044, 0.0436, 0.049, 0.052, 212),
        e2e=Percentiles(15.0, 14.8, 30.0, 55.0, 212),
    )
    events = (
        Event(74.0, 1798, EventKind.PREEMPTED, 279, 20, 266),
        Event(73.7, 1791, EventKind.FINISHED, 227, 304, 15_800),
        Event(73.7, 1790, EventKind.ADMITTED, 279, 305, 20),
        Event(73.6, 1789, EventKind.FINISHED, 215, 351, 18_100),
        Event(73.6, 1788, EventKind.ADMITTED, 278, 318, 20),
        Event(73.4, 1784, EventKind.HIT, 277, 96, 586),
    )
    values = {
        "step": 1798,
        "time_s": 74.0,
        "done": False,
        "counters": count,
        "cells": paged_cells(),
        "waiting": (
            WaitingRow(279, 291, 5.3, True),
            *(WaitingRow(280 + at, 419 - 50 * at, 4.8 - 0.2 * at, False) for at in range(8)),
        ),
        "running": tuple(
            RunningRow(195 + 3 * at, 80, 1242 - 90 * at, 1283 - 80 * at, 1300 - 90 * at, 1328)
            for at in range(12)
        ),
        "events": events,
        "batch": curve(66, 86),
        "mean_filled": 594.0,
    }
    return Frame(**(values | changes))


def empty_frame(**changes: object) -> Frame:
    """Nothing has happened yet."""
    values = {
        "step": 0,
        "time_s": 0.0,
        "done": False,
        "counters": counters(),
        "cells": cells_of(np.zeros(BLOCKS), np.full(BLOCKS, -1), np.zeros(BLOCKS)),
        "waiting": (),
        "running": (),
        "events": (),
        "batch": (),
        "mean_filled": 0.0,
    }
    return Frame(**(values | changes))


def scene(**changes: object) -> Scene:
    """The moment of the pictures: 19 against 66 at 01:14.0."""
    values = {
        "heading": HEADING,
        "lanes": (lane("contiguous"), lane("paged")),
        "frames": (contiguous_frame(), paged_frame()),
        "time_s": 74.0,
        "run": Run.RUNNING,
        "speed": "4.0x",
        "end_s": 193.0,
        "marks": tuple(Mark(60.0 + 2 * at, "preempted") for at in range(8)),
    }
    return Scene(**(values | changes))
