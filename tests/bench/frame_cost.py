"""What a frame costs, beside a widget drawn in the usual way, in one run.

    python -m tests.bench.frame_cost            figures
    python -m tests.bench.frame_cost --check    only ours in large pools, exit code 1 over a hard limit

`busy`: how many times as long as alone anything takes here now; limits of time are so much looser.
Two grids of 64 x 40 cells (the usual widget: 60 x 40) at 200x60, 20,000 and 200,000 blocks.
"""

from __future__ import annotations

import argparse
import compileall
import os
from dataclasses import dataclass
from pathlib import Path

import kvtui
from tests.bench.probe import Cost, Key, busy, measure

SIZE = (200, 60)
SMALL, LARGE = 20_000, 200_000  # blocks
PAUSE = (Key(" ", b"PAUSED"), Key(" ", b"\xe2\x96\xb6"))
READY = (b"requests running at once", b"Events", b"quit")
LINK = 200_000  # bytes a second


@dataclass(frozen=True)
class Case:
    """A way of use, the budget and the hard limits: CPU per cent, bytes a second."""

    name: str
    blocks: int
    share: float  # of blocks that change in a frame
    rate: float
    budget: tuple[float, float]
    limit: tuple[float, float]
    before: str = ""
    link: int | None = None


CASES = (
    Case("start", 0, 0, 20, (100, 200_000), (100, 200_000)),
    Case("paused", LARGE, 0.001, 20, (1, 150), (3, 500), before=" "),
    Case("serving, 20 fps", SMALL, 0.001, 20, (7, 12_000), (15, 20_000)),
    Case("serving, 20 fps", LARGE, 0.001, 20, (7, 12_000), (15, 20_000)),
    Case("1 % a frame, 30 fps", SMALL, 0.01, 30, (16, 110_000), (35, 160_000)),
    Case("1 % a frame, 30 fps", LARGE, 0.01, 30, (16, 110_000), (35, 160_000)),
    Case("zoomed, 20 fps", LARGE, 0.001, 20, (7, 12_000), (15, 20_000), before="z"),
    Case("palette open", LARGE, 0.01, 30, (1, 500), (3, 4_000), before="\x10"),
    Case("1 %, 200 kB/s link", LARGE, 0.01, 30, (16, 110_000), (35, 210_000), link=LINK),
)
HEAD = (
    f"{'':<22}{'blocks':>8}{'':>8}{'first s':>9}{'CPU %':>8}{'bytes/s':>12}{'MB':>6}{'key ms':>14}{'busy':>7}"
)
MOST_CPU = 2.0  # CPU time grows less than wall time where others use the same caches
FIRST, RSS, KEY = (0.5, 1.5), (80, 120), (100, 250)  # seconds, MB, worst key ms: budget and hard limit


def compiled() -> None:
    """As on a second start: Python keeps what it compiles, unless it is told not to."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(Path(kvtui.__file__).parent, quiet=1)


def run(case: Case, kind: str) -> Cost:
    if not case.blocks:
        return measure("-m", "kvtui", "chat", size=SIZE, ready=READY, seconds=1.0)
    child = ("-m", "tests.bench.frame_child", kind, str(case.blocks), str(case.share), str(case.rate))
    ready = READY if kind == "kvtui" else (b"Left",)
    keys = PAUSE * 3 if kind == "kvtui" and not case.before else ()
    return measure(*child, size=SIZE, ready=ready, before=case.before, keys=keys, link=case.link)


def broken(case: Case, cost: Cost, times: float) -> list[str]:
    """The hard limits that do not hold; those of time are `times` as loose, as the machine is so busy."""
    if not case.blocks:
        return [f"first frame {cost.first_s:.2f} s"] if cost.first_s > FIRST[1] * times else []
    limits = {
        "CPU %": (cost.cpu_pct, case.limit[0] * min(times, MOST_CPU)),
        "bytes/s": (cost.bytes_per_s, case.limit[1]),
        "MB": (cost.rss_mb, RSS[1]),
        "key ms": (cost.key_worst, KEY[1] * times),
    }
    return [
        f"{name} {value:,.1f}, at most {most:,}" for name, (value, most) in limits.items() if value > most
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="only ours in large pools; exit code 1 over a hard limit"
    )
    check = parser.parse_args().check
    compiled()
    print(HEAD)
    wrong = []
    for case in CASES:
        if check and case.blocks == SMALL:
            continue  # as dear as the large one, where all is well
        for kind in ("kvtui",) if check or not case.blocks else ("kvtui", "naive"):
            before = busy()
            cost = run(case, kind)
            times = max(before, busy())
            key = f"{cost.key_median:.0f} / {cost.key_worst:.0f}" if cost.key_ms else "-"
            print(
                f"{case.name:<22}{case.blocks:>8,}{kind:>8}{cost.first_s:>9.2f}{cost.cpu_pct:>8.1f}"
                f"{cost.bytes_per_s:>12,.0f}{cost.rss_mb:>6.0f}{key:>14}{times:>7.1f}",
                flush=True,
            )
            if kind == "kvtui":
                wrong += [
                    f"{case.name}, {case.blocks:,} blocks: {text}" for text in broken(case, cost, times)
                ]
        if not check:
            print(
                f"{'':22}{'':8}{'budget':>8}{FIRST[0]:>9}{case.budget[0]:>8}{case.budget[1]:>12,}{RSS[0]:>6}"
            )
    print(*wrong, sep="\n")
    return bool(wrong) if check else 0


if __name__ == "__main__":
    raise SystemExit(main())
