"""kvtui's own workload format: one JSON object a line, a header first.

    {"kvtui_workload": 1, "name": "chat", "seed": 7, "about": "", "unit": 16, "max_len": 2048, "slots": null}
    {"at_ms": 12.345, "prompt": 120, "output": 300, "ids": [[0, 7], [31, 1]], "identified": 120}

`ids` holds runs [first, count] of consecutive chain ids and is left out where a request has none;
`identified` is left out where it is min(prompt, ids x unit). `unit`, `max_len` and `slots` may be missing or
null.
"""

from __future__ import annotations

import json
from typing import TextIO

import numpy as np

from kvtui.traces.workload import Ints, Workload


def write(workload: Workload, stream: TextIO, *, seed: int, about: str) -> None:
    """Write `workload` so that reading it gives the same columns (arrivals exact to the ns below 50 days)."""
    header = {
        "kvtui_workload": 1,
        "name": workload.name,
        "seed": seed,
        "about": about,
        "unit": workload.unit or None,
        "max_len": workload.max_len,
        "slots": workload.slots,
    }
    stream.write(json.dumps(header, ensure_ascii=False) + "\n")
    for index in range(len(workload)):
        stream.write(json.dumps(_row(workload, index)) + "\n")


def _row(workload: Workload, index: int) -> dict[str, object]:
    prompt = int(workload.prompt[index])
    row: dict[str, object] = {
        "at_ms": int(workload.arrival_ns[index]) / 1e6,
        "prompt": prompt,
        "output": int(workload.output[index]),
    }
    if workload.unit:
        ids = workload.chain[workload.chain_start[index] : workload.chain_start[index + 1]]
        if len(ids):
            row["ids"] = _runs(ids)
        identified = int(workload.identified[index])
        if identified != min(prompt, len(ids) * workload.unit):
            row["identified"] = identified
    return row


def _runs(ids: Ints) -> list[list[int]]:
    """[first, count] of each run of consecutive ids."""
    cuts = np.flatnonzero(np.diff(ids) != 1) + 1
    first = np.concatenate(([0], cuts))
    count = np.diff(np.concatenate((first, [len(ids)])))
    return [[int(a), int(b)] for a, b in zip(ids[first], count, strict=True)]
