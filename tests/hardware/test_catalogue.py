"""The catalogue: facts as published, and names that are nearly right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup, gpu, gpus, model, models

REFERENCE = Path(__file__).parents[2] / "../shared/reference"


@pytest.mark.parametrize(
    ("id", "bytes_per_token"),
    [
        ("opt-13b", 800 * 1024),  # PagedAttention, section 3
        ("llama-3.1-8b", 131_072),
        ("llama-3.1-70b", 320 * 1024),
        ("qwen2.5-14b", 192 * 1024),
        ("deepseek-v3", 70_272),
        ("gpt-oss-120b", 73_728),  # 5.38 GiB are 78,384 tokens in vLLM's log
    ],
)
def test_kv_bytes_per_token_are_the_published_ones(id: str, bytes_per_token: int) -> None:
    assert model(id).kv_bytes_per_token() == bytes_per_token


def test_layers_without_growing_kv_do_not_count() -> None:
    groups = (KvGroup("full", 16, kv_heads=4, head_dim=256), KvGroup("linear", 48))
    assert 2 * sum(group.kv_elements(1) for group in groups) == 65_536


def test_tensor_parallelism_splits_heads_but_not_a_latent() -> None:
    assert model("llama-3.1-8b").kv_bytes_per_token(tp=4) == 131_072 // 4
    assert model("llama-3.1-8b").kv_bytes_per_token(tp=16) == 131_072 // 8, "a KV head is never cut"
    assert model("deepseek-v3").kv_bytes_per_token(tp=8) == 70_272


def test_beyond_the_window_only_full_layers_grow() -> None:
    gemma = model("gemma-3-27b")
    assert gemma.kv_bytes_per_token(beyond_window=True) == 81_920 < gemma.kv_bytes_per_token() == 507_904


def test_one_byte_kv_halves_the_cache() -> None:
    assert model("qwen3-8b").kv_bytes_per_token(kv_dtype_bytes=1) == 72 * 1024


def test_weights() -> None:
    llama = model("llama-3.1-8b")
    assert llama.weight_bytes() == 2 * llama.params_total
    logged = {"fp8": 8.49, "int8": 8.49, "int4": 5.38}  # GiB: vLLM 0.19 with such copies of Llama-3.1-8B
    for dtype, gib in logged.items():
        assert llama.weight_bytes(dtype) / 2**30 == pytest.approx(gib, rel=0.02), "embeddings stay in 16 bits"
    assert model("gpt-oss-120b").weight_bytes() / 2**30 == pytest.approx(60.8)
    with pytest.raises(ConfigError, match="fp7"):
        llama.weight_bytes("fp7")


def test_labels_are_short() -> None:
    assert model("llama-3.1-8b").label == "Llama-3.1-8B bf16"
    assert gpu("A10G").label == "A10G 24 GB"


def test_an_unknown_id_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as model_error:
        model("lama-3.1-8b")
    assert "llama-3.1-8b" in (model_error.value.hint or "")
    with pytest.raises(ConfigError) as gpu_error:
        gpu("zzz")
    assert "known: t4" in (gpu_error.value.hint or "")


def test_every_row_names_its_source() -> None:
    for row in (*models(), *gpus()):
        assert row.source
        assert "index id" not in row.source, "only what others can look up"
        assert row.source.count("from memory") == row.source.count("from memory, late 2025")
    assert {row.verified for row in models()} <= {"config", "text", "unverified"}
    assert {row.verified for row in gpus()} <= {"spec", "partly", "unverified"}


@pytest.mark.skipif(not REFERENCE.exists(), reason="needs the reference data")
def test_facts_agree_with_the_reference() -> None:
    for row in json.loads((REFERENCE / "models.json").read_text())["models"]:
        ours = model(row["id"])
        assert ours.kv_bytes_per_token() == row["kv_bytes_per_token_16bit"], row["id"]
        beyond = ours.kv_bytes_per_token(beyond_window=True)
        assert beyond == row["kv_bytes_per_token_beyond_window_16bit"], row["id"]
        assert (ours.params_total, ours.verified) == (row["params_total"], row["verified"])
    for row in json.loads((REFERENCE / "gpus.json").read_text())["gpus"]:
        card = gpu(row["id"])
        theirs = row["memory_bytes_visible"]  # some are smi's figure; the driver's is up to 2 % less
        assert card.memory_bytes == (pytest.approx(theirs, rel=0.02) if "; memory" in card.source else theirs)
        assert (card.bandwidth, card.bf16_flops) == (row["hbm_bandwidth_Bps"], row["bf16_dense_flops"])
        assert card.verified == row["verified"]


def test_importing_it_does_not_import_numpy() -> None:
    code = "import sys, kvtui.hardware.sizing, kvtui.timing.roofline; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
