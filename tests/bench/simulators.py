"""kvtui against other simulators of LLM servers on the same requests, one after the other in one run.

    python -m tests.bench.simulators [--sizes 1000,10000,100000] [--repeat 3] [--python PEERS/bin/python]

Azure conversation requests on one H100 with Llama-3.1-8B: one paged lane, blocks of 16 tokens with exact
ids, 256 requests and 2,048 tokens a step. A run is a whole process from the file to its summary. Others are
looked for in the environment of `--python`; those that are not there are skipped, and it is said how to
install them. Prints medians of seconds, of seconds of processor time (which count where others use the
machine), and how many times kvtui's these are.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.bench import azure

LIMIT_S = 600.0
MS = 1_000
REPLAY = """
import sys
from dynamo._core import run_mocker_trace_replay as replay
engine = {"num_gpu_blocks": 26312, "block_size": 16, "max_num_seqs": 256, "max_num_batched_tokens": 2048}
print(replay([sys.argv[1]], {"engine": engine}, trace_block_size=512).summary)
"""


def as_csv(path: Path, count: int) -> None:
    azure.write(path, count)


def as_mooncake(path: Path, count: int) -> None:
    """JSON Lines with ids of 512-token blocks that nobody shares."""
    used = 0
    with path.open("w") as file:
        for ask in azure.requests(count):
            blocks = -(-ask.prompt // 512)
            row = {
                "timestamp": round(ask.at.total_seconds() * MS),
                "input_length": ask.prompt,
                "output_length": ask.output,
                "hash_ids": list(range(used, used + blocks)),
            }
            used += blocks
            file.write(json.dumps(row) + "\n")


def as_list(path: Path, count: int) -> None:
    """One JSON list, as sched-sim reads it."""
    rows = [
        {
            "id": str(n),
            "timestamp": a.at.total_seconds(),
            "prompt_tokens": a.prompt,
            "output_tokens": a.output,
        }
        for n, a in enumerate(azure.requests(count))
    ]
    path.write_text(json.dumps(rows))


@dataclass(frozen=True)
class Simulator:
    """A program that replays a trace: what it reads, how it is called and how it is installed."""

    name: str
    write: Callable[[Path, int], None]
    arguments: Callable[[Path], list[str]]  # of the interpreter
    module: str
    install: str


KVTUI = Simulator(
    "kvtui",
    as_csv,
    lambda path: [
        *("-m", "kvtui", "run", str(path), "--headless", "--json", "--lane", "paged", "--gpu", "h100-sxm"),
        *("--max-num-seqs", "256", "--max-num-batched-tokens", "2048"),
    ],
    "kvtui",
    "",
)
OTHERS = (
    Simulator(
        "Dynamo mocker (Rust)",
        as_mooncake,
        lambda path: ["-c", REPLAY, str(path)],
        "dynamo._core",
        "pip install --no-deps ai-dynamo-runtime",
    ),
    Simulator(
        "sched-sim (Python, a100)",
        as_list,
        lambda path: ["-m", "sched_sim.cli", "trace", str(path), "--no-gantt", "--hardware", "a100"],
        "sched_sim",
        "pip install sched-sim",
    ),
)
ELSEWHERE = {
    "BLIS (Go)": "build github.com/inference-sim/inference-sim with Go",
    "Vidur (Python)": "clone github.com/microsoft/vidur: its profiles are not in its package",
}


class Cost(NamedTuple):
    wall: float  # s
    processor: float  # s
    memory: int  # bytes at most


def timed(command: list[str]) -> Cost | None:
    """A whole process; None where it fails or takes too long."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.perf_counter() - start > LIMIT_S:
                process.kill()
                os.wait4(process.pid, 0)
                return None
            time.sleep(0.005)
        wall = time.perf_counter() - start
        _, status, usage = ended
        if os.waitstatus_to_exitcode(status):
            errors.seek(0)
            print(errors.read().decode(errors="replace")[-500:], file=sys.stderr)
            return None
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def found(simulator: Simulator, python: str) -> bool:
    """Whether the interpreter can load it."""
    probe = [python, "-c", f"import {simulator.module}"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def median(costs: list[Cost]) -> Cost:
    """Of each figure on its own."""
    wall, processor, memory = (statistics.median(column) for column in zip(*costs, strict=True))
    return Cost(wall, processor, int(memory))


def compare(count: int, repeat: int, present: list[tuple[Simulator, str]]) -> None:
    """One size: everybody in turn, `repeat` times."""
    costs: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for simulator, _ in present:
            files[simulator.name] = path = Path(folder) / simulator.name.split()[0]
            simulator.write(path, count)
        for _ in range(repeat):
            for simulator, python in present:
                cost = timed([python, *simulator.arguments(files[simulator.name])])
                if cost is not None:
                    costs.setdefault(simulator.name, []).append(cost)
    if KVTUI.name not in costs:
        raise SystemExit("kvtui failed")
    tokens = sum(ask.output for ask in azure.requests(count))
    ours = median(costs[KVTUI.name])
    for simulator, _ in present:
        if simulator.name not in costs:
            print(f"{count:>9,}  {simulator.name:<26} failed, or took more than {LIMIT_S:.0f} s")
            continue
        cost = median(costs[simulator.name])
        print(
            f"{count:>9,}  {simulator.name:<26} {cost.wall:8.2f} s {cost.processor:8.2f} s of processor "
            f"{cost.memory / 1e6:7,.0f} MB {tokens / cost.processor / 1e6:6.2f} M tokens/s "
            f"x {cost.wall / ours.wall:.2f} x {cost.processor / ours.processor:.2f}",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the other simulators")
    chosen = parser.parse_args()
    if not azure.TRACE.is_file():
        print("the reference material is not beside the checkout")
        return 2
    present = [(KVTUI, sys.executable)]
    for simulator in OTHERS:
        if found(simulator, chosen.python):
            present.append((simulator, chosen.python))
        else:
            print(f"{simulator.name} is not installed for {chosen.python}: {simulator.install}")
    for name, how in ELSEWHERE.items():
        print(f"{name} is not run: {how}")
    print("requests, simulator, wall, processor, memory, tokens a second of processor, times kvtui's (both)")
    for size in chosen.sizes.split(","):
        compare(int(size), chosen.repeat, present)
    return 0


if __name__ == "__main__":
    sys.exit(main())
