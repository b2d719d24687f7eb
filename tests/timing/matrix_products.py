"""Shares of the peak that matrix products reach in 16 bits; prints `gemm_mfu` of efficiency.json.

    pip download --no-deps aiconfigurator-core==0.12.0    # Apache-2.0
    git clone https://github.com/microsoft/vidur          # MIT
    pip install pyarrow
    python -m tests.timing.matrix_products aiconfigurator_core-*.whl vidur

Counted are products of many rows, as prompts have them. There power holds back Hopper and Ada, which do
better with fewer, and not the A100, which does best: the lower of both made Ampere too slow, or Hopper too
fast.
NVIDIA's collector measured the same library under three servers, of which the middle one is taken. The A40,
which it never saw, is vidur's.
"""

from __future__ import annotations

import csv
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from kvtui.hardware.catalogue import gpu
from tests.timing.published_step_times import SYSTEMS, parquet

ROWS, VIDUR_ROWS = 8192, 4096
SIDES = range(4096, 16_384 + 1)  # of the matrix of weights
CARDS = {
    "a100_sxm": "a100-80",
    "h100_sxm": "h100-sxm",
    "h200_sxm": "h200",
    "b200_sxm": "b200",
    "gb200": "gb200",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000",
}


def collected(wheel: zipfile.ZipFile, system: str) -> Iterator[float]:
    """The median share under each server, of its newest table."""
    folder = f"{SYSTEMS}/data/"
    tables = [name.removeprefix(folder) for name in wheel.namelist() if name.endswith("/gemm_perf.parquet")]
    own = sorted((name for name in tables if name.startswith(f"{system}/gemm/")), key=version)
    for table in {name.split("/")[2]: name for name in own}.values():
        rows = parquet(wheel, table)
        yield median(
            share(row["m"] * row["n"] * row["k"], row["latency"], CARDS[system])
            for row in rows
            if row["gemm_dtype"] == "bfloat16" and row["m"] == ROWS and {row["n"], row["k"]} <= set(SIDES)
        )


def version(table: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", table)]


def share(products: float, milliseconds: float, card: str) -> float:
    """Of the peak, with so many multiplications and as many additions."""
    return 2000 * products / milliseconds / gpu(card).bf16_flops


def profiled(vidur: Path) -> Iterator[float]:
    """Of all four products of a layer on an A40, every model and number of GPUs."""
    for path in sorted(vidur.glob("data/profiling/compute/a40/*/*/mlp.csv")):
        for row in csv.DictReader(path.open()):
            if int(float(row["num_tokens"])) == VIDUR_ROWS:
                for name, weights in matrices(row).items():
                    time = float(row[f"time_stats.{name}.median"] or 0)
                    if time and weights > 2 * SIDES[0] ** 2:
                        yield share(VIDUR_ROWS * weights, time, "a40")


def matrices(row: dict[str, str]) -> dict[str, float]:
    """Weights of each product on one of the GPUs."""
    hidden, wide, heads, kv, tp = (
        int(row[key])
        for key in ("n_embd", "n_expanded_embd", "n_head", "n_kv_head", "num_tensor_parallel_workers")
    )
    up = 2 if row["use_gated_mlp"] == "True" else 1
    return {
        "attn_pre_proj": hidden * (heads + 2 * max(kv, tp)) * (hidden // heads) / tp,
        "attn_post_proj": hidden * hidden / tp,
        "mlp_up_proj": up * hidden * wide / tp,
        "mlp_down_proj": hidden * wide / tp,
    }


def main(wheel: str, vidur: str) -> int:
    with zipfile.ZipFile(wheel) as file:
        for system in CARDS:
            found = sorted(collected(file, system))
            print(f"{system:20} {median(found):.3f}  of", ", ".join(f"{one:.3f}" for one in found))
    print(f"{'a40':20} {median(profiled(Path(vidur))):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
