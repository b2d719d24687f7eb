"""What cells do in tests of the runner, in modules that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from kvtui.frames.slo import Slo
from kvtui.sweep.cell import Cell, Result


def cell(number: int = 1, **changes: object) -> Cell:
    """A cell that is told from others by its block size."""
    plain: dict[str, object] = {"trace": "burst", "trace_sha256": "", "model": "qwen3-8b", "gpu": "l4"}
    return Cell(**{**plain, "block_size": number, "slo": Slo(), **changes})  # type: ignore[arg-type]


SPREAD = {"mean": 1.0, "p50": 1.0, "p90": None, "p99": None, "n": 0}


def plain(cell: Cell) -> Result:
    return {
        "status": "done",
        "number": cell.block_size,
        **dict.fromkeys(("output_tokens_per_s", "wasted_pct"), 1.0),
        **dict.fromkeys(
            ("slo_attainment", "goodput_rps", "usd_per_million_tokens", "waste_usd_per_month"), None
        ),
        **dict.fromkeys(("ttft_s", "tpot_s", "e2e_s"), SPREAD),
        "price": None,
        "expected_error": {},
    }


def endless(cell: Cell) -> Result:
    """Says in which process it is, and goes on for as long as that lives."""
    Path(cell.manager).write_text(str(os.getpid()))
    while True:
        time.sleep(1)


def deadly(cell: Cell) -> Result:
    """Number 3 kills every process it runs in."""
    if cell.block_size == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return plain(cell)


def deadly_once(cell: Cell) -> Result:
    """Number 3 kills the process it first runs in; `manager` is the folder in which that is marked."""
    mark = Path(cell.manager) / f"died-{cell.block_size}"
    if cell.block_size == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with (Path(cell.manager) / "runs").open("a") as runs:
        runs.write(f"{cell.block_size}\n")
    return plain(cell)
