"""Watches a program on a pseudo terminal from outside: bytes, CPU time, memory, and how long a key takes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.tui.pty_run import PtyRun

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
REPLY = b"\x1b[?2026;2$y"  # "synchronized output: yes", asked by Textual at the start
MOST_SETTLE = 4.0  # times as long as on a quiet machine
BUSY_S = 0.5  # of work, to see how busy the machine is
SETTLE_S = 3.0  # before it is measured


def busy() -> float:
    """How many times as long as alone a program takes here now: 1 on a quiet machine."""
    wall, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < BUSY_S:
        pass
    return max(1.0, (time.perf_counter() - wall) / BUSY_S)


@dataclass
class Cost:
    """What a program took; rates are over the measured time."""

    first_s: float = float("nan")  # until the whole first frame
    bytes_per_s: float = 0.0
    cpu_pct: float = 0.0  # of one core
    rss_mb: float = 0.0
    key_ms: list[float] = field(default_factory=list)

    @property
    def key_median(self) -> float:
        return median(self.key_ms) if self.key_ms else float("nan")

    @property
    def key_worst(self) -> float:
        return max(self.key_ms, default=float("nan"))


@dataclass(frozen=True)
class Key:
    """What is typed, and the text that shows it has been answered."""

    keys: str
    shows: bytes


def measure(
    *command: str,
    size: tuple[int, int],
    ready: Sequence[bytes],
    before: str = "",
    seconds: float = 5.0,
    keys: Sequence[Key] = (),
    link: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Cost:
    """Run Python with `command`. When all of `ready` has been written its first frame is whole; then `before`
    is typed, and once that has settled its cost is measured. `link`: bytes a second that are read at most."""
    start = time.monotonic()
    with PtyRun(*command, size=size, env=env) as run:
        os.write(run.master, REPLY)
        run.read(30.0, until=lambda: all(text in run.output for text in ready), link=link)
        cost = Cost(first_s=time.monotonic() - start)
        run.type(before)
        run.read(SETTLE_S * min(busy(), MOST_SETTLE), link=link)
        sent, cpu, then = len(run.output), _cpu_s(run.process.pid), time.monotonic()
        run.read(seconds, link=link)
        took = time.monotonic() - then
        cost.bytes_per_s = (len(run.output) - sent) / took
        cost.cpu_pct = 100 * (_cpu_s(run.process.pid) - cpu) / took
        for key in keys:
            cost.key_ms.append(_key(run, key, link))
        cost.rss_mb = _peak_mb(run.process.pid)
    return cost


def _key(run: PtyRun, key: Key, link: int | None) -> float:
    """Milliseconds from a key to what it shows."""
    run.read(0.3, link=link)
    at, start = len(run.output), time.monotonic()
    run.type(key.keys)
    run.read(10.0, until=lambda: key.shows in run.output[at:], link=link)
    return 1000 * (time.monotonic() - start)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
