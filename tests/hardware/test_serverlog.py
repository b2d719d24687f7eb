"""The wordings in which vLLM has told its KV memory, from 0.2 to today."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.comparison.layers import slot_bytes, tables_of
from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup, ModelSpec, model
from kvtui.hardware.serverlog import parse, read

GIB = 2**30


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("INFO llm_engine.py:223] # GPU blocks: 2588, # CPU blocks: 2048", "blocks", 2588),
        ("INFO executor_base.py:111] # cuda blocks: 27896, # CPU blocks: 2048", "blocks", 27896),
        ("INFO gpu_executor.py:122] # GPU blocks: 27,896, # CPU blocks: 2048", "blocks", 27896),
        ("INFO kv_cache_utils.py:634] GPU KV cache size: 230,528 tokens", "tokens", 230_528),
        (
            "(EngineCore_DP0 pid=7) INFO 11-02 [kv_cache_utils.py:1287] GPU KV cache size: 635,648 tokens",
            "tokens",
            635_648,
        ),
        ("INFO [gpu_worker.py:298] Available KV cache memory: 54.31 GiB", "kv_bytes", int(54.31 * GIB)),
        ("the rest of the memory reserved for KV Cache is 41.60GiB.", "kv_bytes", int(41.6 * GIB)),
        (
            "INFO [gpu_model_runner.py:2338] Model loading took 14.9889 GiB and 3.2 seconds",
            "weights",
            int(14.9889 * GIB),
        ),
        ("INFO model_runner.py:1115] Loading model weights took 14.9888 GB", "weights", int(14.9888 * GIB)),
        ("model weights take 14.99GiB; non_torch_memory takes 0.13GiB", "weights", int(14.99 * GIB)),
        ("WARNING Overriding num_gpu_blocks=2588 with num_gpu_blocks_override=512", "override", 512),
        ('{"num_gpu_blocks": 2588, "num_cpu_blocks": null}', "blocks", 2588),
        ('vllm:cache_config_info{block_size="16",num_gpu_blocks="2588"} 1.0', "blocks", 2588),
        ("non_torch_memory=0.35GiB kv_cache_size=3.81GiB gpu_memory", "kv_bytes", int(3.81 * GIB)),
        ("max_total_num_tokens=475000, chunked_prefill_size=8192", "tokens", 475_000),
    ],
)
def test_wordings(line: str, field: str, value: int) -> None:
    log = parse(f"noise\n{line}\nnoise")
    assert getattr(log, field) == value
    assert len(log.lines) == 1


QWEN3_1_7B = model("qwen3-0.6b")._replace(kv_groups=(KvGroup("full", 28, kv_heads=8, head_dim=128),))
# What vLLM logged of its bytes, and the tokens that it logged beside, null block included.
LOGGED = [
    (10.55, "fp8", model("qwen3-30b-a3b"), 1, 230_528),  # vllm issue 25350
    (10.12, "fp8", model("qwen3-30b-a3b"), 1, 221_000),  # the same, "is needed"
    (24.00, "auto", model("qwen3-30b-a3b"), 1, 262_144),  # vllm issue 34076, "is needed"
    (3.81, "auto", model("llama-3.1-8b"), 1, 1952 * 16),  # vllm issue 10517, an RTX 3090, V0
    (2.89, "auto", model("llama-3.1-8b"), 1, 1478 * 16),  # the same, a longer context
    (18.78, "auto", QWEN3_1_7B, 1, 175_856),  # vllm issue 33263
    (41.60, "auto", model("deepseek-v3"), 8, 635_648),  # latents, whole on each GPU
    (23.25, "auto", model("minimax-m2.5"), 2, 196_608),  # spark-vllm-docker issue 396, "is needed"
    (5.38, "auto", model("gpt-oss-120b"), 1, 78_384),
]
# The same of vLLM 0.19 on H100s: llm-d-planner 56dc5b7, accuracy/results/v0.19.0/logs.
LOGGED += [
    (gib, kind, model(id), tp, tokens)
    for id, kind, tp, gib, tokens in (
        *(("llama-3.1-8b", "auto", tp, *pair) for tp, *pair in ((1, 58.11, 476_016), (2, 63.76, 1_044_688))),
        *(("qwen2.5-7b", "auto", tp, *pair) for tp, *pair in ((1, 58.53, 1_096_000), (2, 63.84, 2_390_592))),
        *(("llama-3.1-8b", "auto", 4, 67.44, 2_209_792), ("qwen2.5-7b", "auto", 4, 67.34, 5_043_280)),
        *(("llama-3.1-8b", "fp8", 1, 58.11, 952_032), ("qwen2.5-7b", "fp8", 1, 58.53, 2_192_000)),
        *(("llama-3.1-70b", "auto", 2, 37.28, 244_304), ("llama-3.1-70b", "auto", 4, 54.09, 708_992)),
        *(("qwen2.5-72b", "auto", 2, 3.04, 19_920), ("qwen3-8b", "auto", 1, 57.5, 418_688)),
        *(("phi-2", "auto", 1, 69.0, 226_112), ("phi-4", "auto", 1, 46.08, 241_568)),
        *(("mistral-small-24b", "auto", 1, 28.19, 184_752), ("mixtral-8x7b", "auto", 2, 28.44, 465_936)),
        *(("qwen3-30b-a3b", "auto", 1, 15.41, 168_288), ("deepseek-v2-lite", "auto", 1, 43.61, 1_505_552)),
        *(("gemma-2-9b", "auto", 1, 54.12, 168_880), ("gemma-2-27b", "auto", 1, 20.59, 58_672)),
        *(("gemma-3-12b", "auto", 1, 47.72, 130_304), ("gemma-3-27b", "auto", 1, 19.53, 36_560)),
        *(("gpt-oss-20b", "auto", 2, 59.32, 2_591_776), ("llama-4-scout", "auto", 4, 16.75, 365_968)),
    )
]


@pytest.mark.parametrize(("gib", "kind", "spec", "tp", "tokens"), LOGGED)
def test_tokens_from_bytes_within_a_fifth_of_a_per_cent(
    gib: float, kind: str, spec: ModelSpec, tp: int, tokens: int
) -> None:
    """Logs of published issues: what is available, and the tokens they say fit."""
    log, tables = parse(f"Available KV cache memory: {gib} GiB"), tables_of(spec, tp)
    block = 16 * slot_bytes(spec, kind, tp=tp)
    found = log.usable_blocks(block_size=16, block_bytes=block, tables=tables)
    assert (found + 1) * 16 // tables == pytest.approx(tokens, rel=0.002)


def test_bytes_of_one_rank_are_not_those_of_the_least() -> None:
    """vllm issue 21348, four GPUs: 8.11 GiB and 178,880 tokens. So many tokens take 8.02 GiB: vLLM counts
    them by the rank that has least, and one rank's line of four was quoted. The count of tokens wins."""
    spec = model("qwen3-235b-a22b")
    block = 16 * slot_bytes(spec, "auto", tp=4)
    quoted, whole = "Available KV cache memory: 8.11 GiB", "GPU KV cache size: 178,880 tokens"
    by_bytes = parse(quoted).usable_blocks(block_size=16, block_bytes=block)
    assert (by_bytes + 1) * 16 == pytest.approx(1.0115 * 178_880, rel=1e-3)
    told = parse(f"{quoted}\n{whole}").usable_blocks(block_size=16, block_bytes=block)
    assert (told + 1) * 16 == 178_880


def test_the_tokens_of_several_kinds_of_layers_mean_two_things() -> None:
    """Releases up to 0.19 counted blocks / tables x block size; newer ones tokens of the longest requests."""
    old = "GPU KV cache size: 78,384 tokens"
    new = "GPU KV cache size: 147,300 tokens, Maximum concurrency for 131,072 tokens per request: 1.12x"
    size = "Available KV cache memory: 5.38 GiB"
    asked = {"block_size": 16, "block_bytes": 16 * 36_864, "tables": 2}
    by_bytes = parse(size).usable_blocks(**asked)
    assert parse(old).usable_blocks(**asked) == parse(f"{size}\n{old}").usable_blocks(**asked) == 9797
    assert parse(f"{size}\n{new}").usable_blocks(**asked) == by_bytes == 9792
    unknown = asked | {"tables": 0}
    assert parse(f"{size}\n{old}").usable_blocks(**unknown) == by_bytes
    with pytest.raises(ConfigError, match="147,300 tokens in requests of 131,072"):
        parse(new).usable_blocks(**asked)


def test_the_least_of_several_ranks_counts() -> None:
    log = parse(
        "\n".join(f"(Worker_TP{i}) GPU KV cache size: {n} tokens" for i, n in enumerate((640, 480, 500)))
    )
    assert log.tokens == 480
    assert log.usable_blocks(block_size=16, block_bytes=16) == 29, "the null block holds nothing"


def test_the_last_of_several_starts_counts() -> None:
    start = "Initializing a V1 LLM engine (v0.12.0) with config: block_size=32, x"
    text = f"{start}\nGPU KV cache size: 320 tokens\n{start}\nGPU KV cache size: 640 tokens\n{start}\ncrash"
    assert parse(text).tokens == 640


def test_an_override_wins_and_a_count_goes_before_bytes() -> None:
    log = parse(
        "# GPU blocks: 2588, # CPU blocks: 0\nOverriding num_gpu_blocks=2588 with num_gpu_blocks_override=100"
    )
    assert log.usable_blocks(block_size=16, block_bytes=16) == 99
    log = parse("Available KV cache memory: 1 GiB\nGPU KV cache size: 99,999 tokens")
    assert log.usable_blocks(block_size=16, block_bytes=2**20) == 6248
    assert parse("Maximum concurrency for 8,192 tokens per request: 28.14x").concurrency == (8192, 28.14)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log.gz"
    path.write_bytes(gzip.compress(b"GPU KV cache size: 230,528 tokens\n"))
    assert read(str(path)).tokens == 230_528
    (tmp_path / "x.log").write_text("nothing here")
    with pytest.raises(ConfigError, match="says nothing"):
        read(str(tmp_path / "x.log"))
    with pytest.raises(ConfigError, match="cannot be read"):
        read(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="no KV block"):
        parse("# GPU blocks: 1").usable_blocks(block_size=16, block_bytes=16)


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text: str) -> None:
    assert parse(text).told in (True, False)
