"""How fast traces are read, and how much memory a row takes.

    python -m tests.bench.trace_reading [--rows N] [--format azure-2024|burstgpt|mooncake]

Writes a file of made-up rows, reads it in a process of its own, and prints rows a second, and the growth of
that process's resident memory over what it had before, in bytes a row: at most, and at the end.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from time import perf_counter

PAGE = resource.getpagesize()


def azure_2024(rows: int, random: Random) -> Iterator[str]:
    yield "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    start, at = datetime(2024, 5, 12), 0
    for _ in range(rows):
        at += int(random.random() * 45_000)
        time = start + timedelta(microseconds=at)
        yield f"{time}+00:00,{int(random.random() * 4000) + 1},{int(random.random() * 600) + 1}\n"


def burstgpt(rows: int, random: Random) -> Iterator[str]:
    yield "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    at = 5
    for _ in range(rows):
        at += int(random.random() * 8)
        prompt, answer = int(random.random() * 1500) + 1, int(random.random() * 500)
        yield f"{at},ChatGPT,{prompt},{answer},{prompt + answer},Conversation log\n"


def mooncake(rows: int, random: Random) -> Iterator[str]:
    for number in range(rows):
        prompt = int(random.random() * 16_000) + 1
        ids = list(range(number * 40, number * 40 - (-prompt // 512)))
        row = {"timestamp": number * 300, "input_length": prompt, "output_length": 200, "hash_ids": ids}
        yield json.dumps(row) + "\n"


FORMATS = {"azure-2024": azure_2024, "burstgpt": burstgpt, "mooncake": mooncake}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def read(path: str) -> None:
    """In the process that is measured."""
    from kvtui.traces import load

    load(path, limit=1)
    before, begin = resident(), perf_counter()
    workload = load(path)
    seconds = perf_counter() - begin
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows = len(workload) + sum(group.count for group in workload.left_out)
    print(f"{workload.format}: {rows:,} rows in {seconds:.2f} s, {rows / seconds:,.0f} rows a second")
    at_most, at_end = (most - before) / rows, (resident() - before) / rows
    print(f"memory: {at_most:.1f} bytes a row at most, {at_end:.1f} at the end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--format", choices=FORMATS, default="azure-2024")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(options.read)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".trace") as file:
        file.writelines(FORMATS[options.format](options.rows, Random(1)))
        file.flush()
        subprocess.run([sys.executable, "-m", "tests.bench.trace_reading", "--read", file.name], check=True)


if __name__ == "__main__":
    main()
