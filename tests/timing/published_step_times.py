"""Makes a wide table of step times from public measurements, to hold predictions against.

    pip download --no-deps aiconfigurator-core==0.12.0    # Apache-2.0, NVIDIA's collector
    git clone https://github.com/microsoft/vidur          # MIT
    pip install pyarrow
    python -m tests.timing.published_step_times aiconfigurator_core-*.whl vidur -o wide.csv
    kvtui steptime --check wide.csv

About 7,000 rows: closed-loop benchmarks, attention kernels, all-reduces, linear layers. Left out are the vLLM
0.12 rows of Llama-3.1-8B-FP8: a token takes less time there than its share of the prompts' computation.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

SYSTEMS = "aiconfigurator_core/systems"
COLUMNS = [
    *("gpu", "model", "tp", "phase", "scope", "op", "batch_size", "context_len", "chunk_tokens"),
    *("output_len", "measured_ms", "dtype", "kv_dtype", "max_num_batched_tokens", "engine", "source"),
    *("licence", "notes"),
]
GPUS = {
    "a100_sxm": ("A100-80GB-SXM", "0.14.0", "0.14.0"),
    "h100_sxm": ("H100-80GB-SXM", "0.24.0", "0.24.0"),
    "h200_sxm": ("H200-141GB-SXM", "0.24.0", "0.24.0"),
    "b200_sxm": ("B200-180GB-SXM", "0.24.0", "0.24.0"),
    "l40s": ("L40S-48GB", "0.24.0", "0.22.0"),
}
VIDUR = {"a100": "A100-80GB-SXM", "h100": "H100-80GB-SXM", "a40": "A40-48GB"}
VIDUR_TOKENS = (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096)
MODELS = (
    "Llama-3.1-70B",
    "Qwen3-32B",
    "Llama-3.1-8B-Instruct",
    "gpt-oss-120b",
    "Qwen3-235B-A22B-FP8",
    "MiniMax-M2.5",
)
Row = dict[str, Any]


def served(wheel: zipfile.ZipFile) -> Iterator[Row]:
    """Mean latencies under a constant number of requests, one row each for first and further tokens."""
    return benchmarks(wheel.read(f"{SYSTEMS}/silicon_sample.csv").decode())


def benchmarks(text: str) -> Iterator[Row]:
    """The same from the text of that table."""
    for row in csv.DictReader(io.StringIO(text)):
        plain = row["mode"] == "agg" and row["attention_dp_size"] in ("", "1") and row["pp_size"] in ("", "1")
        name = row["model_path"].split("/")[-1]
        if not plain or row["system"] not in GPUS or name not in MODELS:
            continue
        source = dict(
            part.strip().split("=", 1) for part in row["silicon_data_source"].split(";") if "=" in part
        )
        for phase in ("tpot", "ttft"):
            yield {
                "gpu": GPUS[row["system"]][0],
                "model": row["model_path"],
                "tp": tensor_parallel(row),
                "phase": f"e2e_{phase}",
                "scope": "serving_closed_loop",
                "batch_size": source.get("silicon_concurrency", row["batch_size"]),
                "context_len": row["isl"],
                "output_len": row["osl"],
                "measured_ms": row[f"silicon_{phase}_ms"],
                "dtype": row["precision"],
                **settings(row, name),
                "engine": f"{row['backend']} {row['backend_version']}",
                "notes": row["id"],
            }


def tensor_parallel(row: Row) -> str:
    """As the id says: tp_size of some rows is that times the experts' share of the same GPUs."""
    told = re.search(r"_tp(\d+)_", row["id"])
    return str(told[1] if told else row["tp_size"])


def settings(row: Row, name: str) -> Row:
    """What InferenceMAX's scripts start these servers with (github.com/SemiAnalysisAI/InferenceX)."""
    lengths = int(float(row["isl"])), int(float(row["osl"]))
    blackwell = row["system"] == "b200_sxm"
    kv, tokens = "unknown", ""
    if "aic-auto-gap-analysis" in row["silicon_data_source"]:
        return {"kv_dtype": kv, "max_num_batched_tokens": tokens}
    if row["backend"] == "vllm":
        kv = "fp8" if blackwell else kv
        tokens = str(2 * lengths[0] if blackwell and name == "MiniMax-M2.5" else 8192)
    elif row["backend"] == "trtllm" and name == "gpt-oss-120b":
        kv, tokens = "fp8" if blackwell else "bf16", "20000"
    elif row["backend"] == "trtllm":
        tokens = "16384" if blackwell else str(sum(lengths) + 200)
    return {"kv_dtype": kv, "max_num_batched_tokens": tokens}


def parquet(wheel: zipfile.ZipFile, name: str) -> list[Row]:
    import pyarrow.parquet as pq

    rows: list[Row] = pq.read_table(io.BytesIO(wheel.read(f"{SYSTEMS}/data/{name}"))).to_pylist()
    return rows


def kernels(wheel: zipfile.ZipFile) -> Iterator[Row]:
    """Attention of one layer with 32 query and 8 KV heads of 128."""
    for system, (gpu, version, _) in GPUS.items():
        for phase, kind in (("prefill", "context"), ("decode", "generation")):
            for row in parquet(wheel, f"{system}/attention/vllm/{version}/{kind}_attention_perf.parquet"):
                heads = (row["num_heads"], row["num_key_value_heads"], row["head_dim"])
                context = row["isl"] if phase == "prefill" else row["step"] + 1
                if heads != (32, 8, 128) or row.get("window_size") or context < 64:
                    continue
                batch = row["batch_size"]
                yield {
                    "gpu": gpu,
                    "model": "Llama-3-8B",
                    "tp": 1,
                    "phase": phase,
                    "scope": "kernel",
                    "op": "attention core, one layer, 32q/8kv/128",
                    "batch_size": batch,
                    "context_len": context,
                    "chunk_tokens": batch * context if phase == "prefill" else batch,
                    "measured_ms": row["latency"],
                    "dtype": "bf16",
                    "kv_dtype": "fp8" if row["kv_cache_dtype"] == "fp8" else "bf16",
                    "engine": f"vLLM {version} {row['kernel_source']}",
                }


def allreduces(wheel: zipfile.ZipFile) -> Iterator[Row]:
    """vLLM's all-reduce inside a CUDA graph."""
    for system, (gpu, _, version) in GPUS.items():
        for row in parquet(wheel, f"{system}/comm/vllm/{version}/custom_allreduce_perf.parquet"):
            if "graph" in row["kernel_source"]:
                size = row["message_size"]
                yield {
                    "gpu": gpu,
                    "model": "(any)",
                    "tp": row["num_gpus"],
                    "phase": "any",
                    "scope": "allreduce",
                    "op": f"all-reduce of {size} bf16 elements ({2 * size} bytes)",
                    "measured_ms": row["latency"],
                    "dtype": "bf16",
                    "engine": f"vLLM {version} custom all-reduce in CUDA graph",
                }


def layers(vidur: Path) -> Iterator[Row]:
    """Sum of the median kernel times of one layer; the residual addition comes twice."""
    for path in sorted(vidur.glob("data/profiling/compute/*/*/*/mlp.csv")):
        times: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in csv.DictReader(path.open()):
            at = int(row["num_tensor_parallel_workers"]), int(float(row["num_tokens"]))
            for key, value in row.items():
                if key.endswith(".median") and ".emb." not in key and value and at[1] in VIDUR_TOKENS:
                    times[at][key].append(float(value))
        for (tp, tokens), kernels in sorted(times.items()):
            twice = (2 if ".add." in key else 1 for key in kernels)
            total = sum(n * median(v) for n, v in zip(twice, kernels.values(), strict=True))
            yield {
                "gpu": VIDUR[path.parts[-4]],
                "model": path.parts[-2],
                "tp": tp,
                "phase": "any",
                "scope": "layer_linear",
                "op": "norms+qkv+rope+o+mlp of one layer",
                "batch_size": tokens,
                "context_len": 0,
                "chunk_tokens": tokens,
                "measured_ms": round(total, 4),
                "dtype": "fp16",
                "engine": "vidur profiler (Sarathi kernels, CUPTI)",
            }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel")
    parser.add_argument("vidur", type=Path)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    with zipfile.ZipFile(options.wheel) as wheel, open(options.output, "x", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        for rows in (served(wheel), kernels(wheel), allreduces(wheel), layers(options.vidur)):
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
