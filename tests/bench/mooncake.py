"""Requests as many, as long and as alike as those of Mooncake's conversation trace: 145 M prompt tokens."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

REQUESTS = 12_031
UNIT = 512  # tokens an id stands for
SPAN_MS = 3_600_000
ANSWERS = (80, 250, 600)  # tokens: least, most often, most
TURNS = 1.6  # of a conversation, on average
FIRST = 9.8  # units of a first prompt, on average; it is log-normal
LATER = 5.7  # units that a turn adds


def write(path: Path, requests: int = REQUESTS, seed: int = 1) -> int:
    """Write such a trace; returns how many prompt tokens it has."""
    random = Random(seed)
    rows: list[tuple[int, int, list[int]]] = []
    used = 1  # id 0 begins all prompts
    while len(rows) < requests:
        at, ids = random.randrange(SPAN_MS), [0]
        length = round(random.lognormvariate(0, 1.1) * FIRST) + 1
        while True:
            ids = [*ids, *range(used, used + length)]
            used += length
            rows.append((at, len(ids) * UNIT - random.randrange(UNIT), ids))
            if random.random() * TURNS < 1:
                break
            at += random.randrange(30_000, 240_000)
            length = round(random.expovariate(1) * LATER) + 1
    rows = sorted(rows)[:requests]
    with path.open("w") as file:
        for at, tokens, ids in rows:
            answer = round(random.triangular(ANSWERS[0], ANSWERS[2], ANSWERS[1]))
            row = {"timestamp": at, "input_length": tokens, "output_length": answer, "hash_ids": ids}
            file.write(json.dumps(row) + "\n")
    return sum(tokens for _, tokens, _ in rows)
