"""Where two recordings of one world part, and the smallest world in which they still do."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.serving.worlds import World

Decisions = Iterable[dict[str, Any]]


def difference(real: Decisions, ours: Decisions) -> str | None:
    """The first difference, every field and the order of the batch counted; None if there is none."""
    for recorded, made in itertools.zip_longest(real, ours):
        made = json.loads(json.dumps(made))
        if recorded is None or made is None:
            return f"different length: vLLM {_brief(recorded)}, ours {_brief(made)}"
        parts = [f for f in {**recorded, **made} if recorded.get(f) != made.get(f)]
        if not parts and list(recorded["scheduled"]) != list(made["scheduled"]):
            return f"step {recorded['step']}: order of the batch"
        if parts:
            said = [f"\n  {f}\n    vllm {recorded.get(f)}\n    ours {made.get(f)}" for f in parts]
            return f"step {recorded['step']}:" + "".join(said)
    return None


def _brief(line: dict[str, Any] | None) -> str:
    return "has ended" if line is None else f"goes on with step {line['step']}"


def smallest(world: World, differs: Callable[[World], bool], *, tries: int = 400) -> World:
    """A world that still differs and of which hardly anything can be taken away."""
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in itertools.islice(_smaller(world), max(tries, 0)):
            tries -= 1
            if differs(smaller):
                world, shrunk = smaller, True
                break
    return world


def _smaller(world: World) -> Iterator[World]:
    config, lines = world
    for half in range(len(lines) // 2, 0, -max(len(lines) // 4, 1)):
        for at in range(0, len(lines), half):
            if len(lines) > half:
                yield config, lines[:at] + lines[at + half :]
    for key in config:
        if key not in ("num_gpu_blocks", "block_size", "max_model_len", "async_scheduling"):
            yield {k: v for k, v in config.items() if k != key}, lines
    for i, row in enumerate(lines):
        for smaller in _smaller_rows(row):
            yield config, [*lines[:i], smaller, *lines[i + 1 :]]


def _smaller_rows(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in row:
        if key not in ("id", "arrival_step", "prompt_tokens", "output_tokens"):
            yield {k: v for k, v in row.items() if k != key}
    for key in ("arrival_step", "output_tokens", "prompt_tokens"):
        value = row.get(key)
        whole = isinstance(value, int) and not {"prompt_segments", "hash_ids"} & set(row)
        if (key != "prompt_tokens" or whole) and value > (key != "arrival_step"):
            for less in {value // 2, value - 1} - {0 if key != "arrival_step" else -1}:
                yield row | {key: less}
