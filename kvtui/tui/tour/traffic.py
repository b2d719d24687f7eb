"""Small worlds for the tour: a pool of a few hundred blocks, and requests as a chat server gets them."""

from __future__ import annotations

import numpy as np

from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.traces.workload import Workload

BLOCK = 16
WIDTH = 32  # blocks a row of the grid; a reservation of MAX_LEN is one row
MAX_LEN = WIDTH * BLOCK
OPENING = 128  # tokens that prompts have in common, where they have any
ANSWERS_EACH = 4  # to one prompt, where there are several
LONG = 400  # tokens of the one long prompt
PROMPTS = (48, 131, 22, 210, 75, 96, 33, 160, 58, 118, 27, 84, 190, 41, 67, 104)
ANSWERS = (95, 40, 180, 62, 130, 25, 210, 74, 50, 155, 33, 88, 120, 66, 240, 45)
REQUESTS = 240
RATE = 1.7  # requests a second for each row of the pool: more than it can serve


def chat(rows: int) -> Workload:
    """More requests than a pool of so many rows has room for."""
    return _workload("chat", rows, _cycled(PROMPTS), _cycled(ANSWERS))


def same_opening(rows: int) -> Workload:
    """Prompts that begin with the same tokens: a system prompt."""
    units = OPENING // BLOCK
    prompt = _cycled(PROMPTS) + OPENING
    return _workload(
        "same opening",
        rows,
        prompt,
        _cycled(ANSWERS),
        unit=BLOCK,
        chain=np.tile(np.arange(units), REQUESTS),
        chain_start=np.arange(REQUESTS + 1) * units,
        identified=np.full(REQUESTS, OPENING),
    )


def one_long(rows: int) -> Workload:
    """Short prompts, and in the midst of them a long one."""
    prompt = _cycled(PROMPTS) // 3 + 8
    prompt[2 * rows] = LONG
    return _workload("one long", rows, prompt, _cycled(ANSWERS))


def several_answers(rows: int) -> Workload:
    """Prompts that each ask for a few answers."""
    return _workload(
        "several answers",
        rows,
        _cycled(PROMPTS) + 5,
        _cycled(ANSWERS),
        samples=np.full(REQUESTS, ANSWERS_EACH, np.int64),
    )


def world(workload: Workload, lane: str, *, budget: int | None = None) -> Experiment:
    """One lane that replays it; `budget` is the tokens of a step."""
    return Experiment(
        workload,
        catalogue.model(DEFAULT_MODEL),
        catalogue.gpu(DEFAULT_GPU),
        (LaneSpec.parse(lane),),
        max_num_batched_tokens=budget,
    )


def _cycled(lengths: tuple[int, ...]) -> np.ndarray:
    return np.resize(np.array(lengths, np.int64), REQUESTS)


def _workload(name: str, rows: int, prompt: np.ndarray, output: np.ndarray, **prefixes: object) -> Workload:
    return Workload(
        name=name,
        format="made for the tour",
        arrival_ns=np.arange(REQUESTS, dtype=np.int64) * round(1e9 / (RATE * rows)),
        prompt=prompt,
        output=output,
        line=np.zeros(REQUESTS, np.int64),
        max_len=MAX_LEN,
        slots=rows * MAX_LEN,
        **prefixes,  # type: ignore[arg-type]
    )
