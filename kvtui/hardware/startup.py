"""What vLLM takes for itself when it starts, beside the weights: measured by it, estimated here, by release.

The terms were set on start-up logs of vLLM 0.11 to 0.19 on H100s (llm-d-planner: its accuracy campaign and
docs/empirical-vllm-memory-results.md) and on the sum that vLLM 0.32 makes (v1/worker/gpu_worker.py: what is
free before and after a profiling run, NCCL being set up before). `measuredpools` compares them.
"""

from __future__ import annotations

import re
from functools import cache

from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.serving.rules import NEWEST, release

GIB = 2**30
OLDEST = 11  # second number of the oldest version of which logs are known

_ACTIVATION_BYTES = 2
# Of one logit of the profiling batch. Up to 0.16 top-k and top-p sorted copies of all of them: Qwen3-14B's
# activations under 0.15 to 0.18 were 5.64, 5.64, 2.23 and 2.23 GiB.
_SAMPLER_BYTES, _SORTING_SAMPLER_BYTES = 14, 37
_GRAPH_LAYER_BYTES = 256 * 2**10  # a layer in a graph; the logs show 0.5 to 1.9 GiB in all
_CONTEXT_BYTES = 27 * GIB // 100  # mean of the logs on one GPU
_OLD_CONTEXT_BYTES = 13 * GIB // 100  # up to 0.17
_JOINED_BYTES = 7 * GIB // 100  # of each of several GPUs, whose contexts NCCL has made before vLLM measures
_OLD_JOINED_BYTES = 55 * GIB // 100  # 0.11, two H100s
_FUSED_BYTES = 2 * GIB  # workspace of the all-reduce fused with the norm behind it: 1.99 to 2.14 in the logs


@cache
def minor(vllm: str) -> int:
    """The second number of a vLLM version, as "0.19" or "0.19.0": any from the oldest known to the newest.
    Raises ConfigError for another."""
    found = re.fullmatch(r"0\.(\d{1,3})(\.\d+)?", vllm)
    if found and OLDEST <= int(found[1]) <= int(NEWEST.split(".")[1]):
        return int(found[1])
    return int(release(vllm).name.split(".")[1])


def default_utilization(vllm: str) -> float:
    """`gpu_memory_utilization` of a vLLM version that is not told otherwise."""
    return 0.92 if minor(vllm) >= 20 else 0.9


def activation_bytes(model: ModelSpec, *, tokens: int, seqs: int, vllm: str) -> int:
    """Peak of the profiling run: the residual stream, and the larger of one MLP and the sampler."""
    stream = 3 * tokens * model.hidden * _ACTIVATION_BYTES
    mlp = 3 * tokens * model.intermediate * _ACTIVATION_BYTES
    logit = _SAMPLER_BYTES if minor(vllm) >= 17 else _SORTING_SAMPLER_BYTES
    return stream + max(mlp, seqs * model.vocab * logit)


def context_bytes(gpu: GpuSpec, *, tp: int, vllm: str) -> int:
    """What the CUDA context and libraries take after vLLM began to measure, on each of `tp` GPUs."""
    if tp == 1:
        return _CONTEXT_BYTES if minor(vllm) >= 18 else _OLD_CONTEXT_BYTES
    if minor(vllm) < 17:
        return _OLD_JOINED_BYTES
    return _JOINED_BYTES + (_FUSED_BYTES if fuses_all_reduce(gpu) else 0)


def fuses_all_reduce(gpu: GpuSpec) -> bool:
    """Whether vLLM fuses all-reduces on this GPU: on compute capability 9.0 and 10.x (its config's
    `enable_allreduce_rms_fusion`), which are Hopper and those of Blackwell that have NVLink."""
    return gpu.arch.startswith(("Hopper", "Blackwell")) and gpu.link is not None


def captured_graphs(seqs: int) -> int:
    """How many CUDA graphs vLLM captures: piecewise ones of up to twice `seqs` tokens, full ones of up to
    `seqs`, and 512 at most."""
    sizes = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))
    return sum((size <= 2 * seqs) + (size <= seqs) for size in sizes)


def graph_bytes(model: ModelSpec, *, seqs: int, vllm: str) -> int:
    """What a version takes off the pool for CUDA graphs: nothing up to 0.19, and nothing from 0.25 to 0.28
    for dense models, whose new runner had no estimate yet (vLLM pull requests 44443 and 53306)."""
    number = minor(vllm)
    if number < 20 or (25 <= number < 29 and model.moe is None):
        return 0
    return captured_graphs(seqs) * model.layers * _GRAPH_LAYER_BYTES
