"""Fits the kernels of a mixture's experts to NVIDIA's measured tables; prints `experts` of efficiency.json.

    pip download --no-deps aiconfigurator-core==0.12.0    # Apache-2.0
    pip install pyarrow
    python -m tests.timing.fit_expert_kernels aiconfigurator_core-*.whl

One kernel (all experts of a layer, vLLM's) is a fixed time, reading the experts that are visited, and
arithmetic, in turn: `choose_forms.py` says why. Used are rows in which tokens spread
evenly over the experts, as then it is known how many are visited. No benchmark of a server is looked at.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator, Sequence
from math import log
from typing import Any

from kvtui.hardware.catalogue import ExpertKernel, gpu
from kvtui.timing.calibration import fit
from kvtui.timing.kernels import expert_layer
from kvtui.timing.steptime import spread
from tests.timing.published_step_times import parquet

# Table, GPU of the catalogue.
TABLES = {
    "a100": ("a100_sxm/moe/vllm/0.14.0", "a100-80"),
    "h100": ("h100_sxm/moe/vllm/0.24.0", "h100-sxm"),
    "h200": ("h200_sxm/moe/vllm/0.24.0", "h200"),
    "b200": ("b200_sxm/moe/vllm/0.24.0", "b200"),
    "gb200": ("gb200/moe/vllm/0.24.0", "gb200"),
    "l40s": ("l40s/moe/vllm/0.24.0", "l40s"),
    "rtx-pro-6000": ("rtx_pro_6000_server/moe/vllm/0.24.0", "rtx-pro-6000"),
}
# Of MXFP4 the kernel with 8-bit activations where there is one: vLLM has it for such models (issue 35528).
DTYPES = {
    "bf16": ("bfloat16",),
    "fp8": ("fp8_block",),
    "fp4": ("nvfp4",),
    "mxfp4": ("w4a8_mxfp4_mxfp8", "w4a16_mxfp4"),
}
# MXFP4 as TensorRT-LLM runs it. On Blackwell vLLM runs the same kernel (trtllm_fp4_block_scale_moe of
# FlashInfer), so that it is "mxfp4" there, and not what was measured with routing and quantisation apart.
TRTLLM = {
    "h100": ("h100_sxm/moe/trtllm/1.3.0rc20", "h100-sxm"),
    "h200": ("h200_sxm/moe/trtllm/1.3.0rc20", "h200"),
    "b200": ("b200_sxm/moe/trtllm/1.3.0rc20", "b200"),
    "gb200": ("gb200/moe/trtllm/1.3.0rc20", "gb200"),
}
START = ExpertKernel(30.0, 0.8, 0.4)
LARGEST, MOST_GPUS = 16_384, 8  # tokens of a step, GPUs that share a layer
Row = dict[str, Any]


def rows_of(wheel: zipfile.ZipFile, table: str) -> list[Row]:
    """Layers that are whole on one GPU or divided by tensor parallelism."""
    rows = parquet(wheel, f"{table}/moe_perf.parquet")
    plain = [row for row in rows if row["moe_ep_size"] == 1 and row["moe_tp_size"] <= MOST_GPUS]
    plain = [row for row in plain if row["num_tokens"] <= LARGEST and row["latency"] > 0]
    even = [row for row in plain if row["distribution"] == "balanced"]
    return even or [row for row in plain if row["distribution"] == "power_law_1.01"]


def kinds(wheel: zipfile.ZipFile, table: str) -> Iterator[tuple[str, list[Row]]]:
    """Type of the weights, and the rows of the kernel that was measured for it."""
    rows = rows_of(wheel, table)
    known = {row["moe_dtype"] for row in rows}
    for dtype, kernels in DTYPES.items():
        told = next((kernel for kernel in kernels if kernel in known), None)
        if told:
            yield dtype, [row for row in rows if row["moe_dtype"] == told]


def terms(row: Row, card: str, dtype: str, kernel: ExpertKernel) -> tuple[float, float, float]:
    """Seconds: fixed, reading, arithmetic."""
    experts, top = row["num_experts"], row["topk"] / row["num_experts"]
    params = 3 * row["hidden_size"] * row["inter_size"] * experts
    layer = expert_layer(gpu(card), kernel, dtype=dtype, params=params, top=top, tp=row["moe_tp_size"])
    tokens = row["num_tokens"]
    return layer.floor, min(1.0, tokens * top) * layer.read, tokens * layer.token


def main(wheel: str) -> int:
    with zipfile.ZipFile(wheel) as file:
        for name, (table, card) in TABLES.items():
            for dtype, rows in kinds(file, table):
                report(name, card, dtype, rows)
        for name, (table, card) in TRTLLM.items():
            report(f"{name} trtllm", card, "mxfp4", dict(kinds(file, table))["mxfp4"])
    return 0


def report(name: str, card: str, dtype: str, rows: Sequence[Row]) -> None:
    def ratios(kernel: ExpertKernel) -> list[float]:
        return [1000 * sum(terms(row, card, dtype, kernel)) / row["latency"] for row in rows]

    found = fit(START, ("floor_us", "mbu", "mfu"), lambda kernel: [log(ratio) for ratio in ratios(kernel)])
    print(name, dtype, found._asdict(), spread([ratio - 1 for ratio in ratios(found)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
