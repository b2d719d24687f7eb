"""The wordings in which vLLM has told its KV memory, from 0.2 to today."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import model
from kvtui.hardware.kvtypes import token_bytes
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
        ("max_total_num_tokens=475000, chunked_prefill_size=8192", "tokens", 475_000),
    ],
)
def test_wordings(line: str, field: str, value: int) -> None:
    log = parse(f"noise\n{line}\nnoise")
    assert getattr(log, field) == value
    assert len(log.lines) == 1


@pytest.mark.parametrize(
    ("gib", "kind", "id", "tp", "tokens"),
    [
        (10.55, "fp8", "qwen3-30b-a3b", 1, 230_528),  # 49,140 bytes a token in the log, 49,152 here
        (41.60, "auto", "deepseek-v3", 8, 635_648),  # latents, whole on each GPU
        (5.38, "auto", "gpt-oss-120b", 1, 78_384),
    ],
)
def test_tokens_from_bytes_within_a_fifth_of_a_per_cent(
    gib: float, kind: str, id: str, tp: int, tokens: int
) -> None:
    """Logs of published issues: what is available, and the tokens they say fit."""
    log = parse(f"Available KV cache memory: {gib} GiB")
    found = log.usable_tokens(block_size=16, token_bytes=token_bytes(model(id), kind, tp=tp))
    assert found + 16 == pytest.approx(tokens, rel=0.002)


def test_the_least_of_several_ranks_counts() -> None:
    log = parse(
        "\n".join(f"(Worker_TP{i}) GPU KV cache size: {n} tokens" for i, n in enumerate((640, 480, 500)))
    )
    assert log.tokens == 480
    assert log.usable_tokens(block_size=16, token_bytes=1) == 464, "the null block holds nothing"


def test_the_last_of_several_starts_counts() -> None:
    start = "Initializing a V1 LLM engine (v0.12.0) with config: block_size=32, x"
    text = f"{start}\nGPU KV cache size: 320 tokens\n{start}\nGPU KV cache size: 640 tokens\n{start}\ncrash"
    assert parse(text).tokens == 640


def test_an_override_wins_and_bytes_win_where_layers_differ() -> None:
    log = parse(
        "# GPU blocks: 2588, # CPU blocks: 0\nOverriding num_gpu_blocks=2588 with num_gpu_blocks_override=100"
    )
    assert log.usable_tokens(block_size=16, token_bytes=1) == 99 * 16
    log = parse("Available KV cache memory: 1 GiB\nGPU KV cache size: 99,999 tokens")
    assert log.usable_tokens(block_size=16, token_bytes=65536, hybrid=True) == 1023 * 16
    assert log.usable_tokens(block_size=16, token_bytes=65536) == 6248 * 16
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
        parse("# GPU blocks: 1").usable_tokens(block_size=16, token_bytes=1)


@given(st.text(max_size=200))
def test_any_text_can_be_parsed(text: str) -> None:
    assert parse(text).told in (True, False)
