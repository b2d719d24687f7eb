"""Pool sizes against what vLLM and others report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.errors import ConfigError, DoesNotFit
from kvtui.hardware.catalogue import gpu, model
from kvtui.hardware.measuredpools import MeasuredPool, measured_pools, pool_error
from kvtui.hardware.sizing import GIB, BatchLimits, batch_limits, pool

LLAMA = model("llama-3.1-8b")


def test_the_default_scene_has_room_for_17_full_reservations() -> None:
    scene = pool(LLAMA, gpu("a10g"))
    assert 2150 <= scene.blocks <= 2250
    assert scene.tokens // 2048 == 17


@pytest.mark.parametrize(("vllm", "share"), [("0.16", 0.9), ("0.33", 0.92)])
def test_vllms_own_share_unless_it_is_given(vllm: str, share: float) -> None:
    assert pool(LLAMA, gpu("l4"), vllm=vllm) == pool(LLAMA, gpu("l4"), utilization=share, vllm=vllm)


def test_an_h100_as_blis_sees_it() -> None:
    assert pool(LLAMA, gpu("h100-sxm"), utilization=0.9).blocks == pytest.approx(26_312, rel=0.05)


@pytest.mark.parametrize("row", measured_pools(), ids=lambda row: f"{row.model}, {row.tp} x {row.gpu}")
def test_pools_as_measured(row: MeasuredPool) -> None:
    """Servers of others, end to end: the H100, on which the terms were set, and cards nobody fitted."""
    most = 0.5 if row.gpu == "h100-sxm" else 8
    assert 0 < abs(row.error_pct) <= most


@pytest.mark.parametrize(
    ("id", "servers", "this", "large"),
    [("h100-sxm", 2, True, False), ("rtx4090", 1, True, True), ("l4", 5, False, False)],
)
def test_what_is_known_of_an_estimate(id: str, servers: int, this: bool, large: bool) -> None:
    found = pool_error(gpu(id))
    assert (found.servers, found.this_gpu, found.too_large) == (servers, this, large)
    assert found.most_pct <= (0.5 if id == "h100-sxm" else 8)


@pytest.mark.parametrize(
    ("id", "gib"),
    [("llama-3.1-8b", 1.89), ("qwen3-8b", 2.21), ("gemma-2-9b", 3.63), ("phi-4", 1.52)],
)
def test_activations_as_measured(id: str, gib: float) -> None:
    """vLLM 0.19.0 on an H100: "torch peak memory increase" of its log."""
    terms = pool(model(id), gpu("h100-sxm")).terms
    activations = next(-term.bytes for term in terms if term.name == "activations")
    assert activations / GIB == pytest.approx(gib, rel=0.05)


def test_blocks_bytes_and_tokens_agree_to_the_token() -> None:
    sized = pool(LLAMA, gpu("l4"), block_size=32)
    assert sized.bytes // LLAMA.kv_bytes_per_token() == sized.tokens == 32 * sized.blocks
    left = sum(term.bytes for term in sized.terms)
    assert 0 <= left - sized.bytes - sized.block_bytes < sized.block_bytes, "one null block, no more"


def test_four_mib_a_block_of_64_tokens() -> None:
    """16 of 64 layers keep KV, 4 heads of 256."""
    groups = tuple(replace(group, layers=16, kv_heads=4, head_dim=256) for group in LLAMA.kv_groups)
    hybrid = replace(LLAMA, layers=64, kv_groups=groups)
    assert pool(hybrid, gpu("h100-sxm"), block_size=64).block_bytes == 4 * 2**20


def test_what_has_no_estimate_makes_it_an_upper_bound() -> None:
    assert not pool(LLAMA, gpu("a10g")).upper_bound
    mixture = pool(model("qwen3-30b-a3b"), gpu("h100-sxm"))
    assert mixture.upper_bound
    assert mixture.left_out == ("buffers of the experts",)
    assert len(pool(model("qwen3.5-35b-a3b"), gpu("h200")).left_out) == 2


def test_a_model_that_does_not_fit_says_by_how_much() -> None:
    with pytest.raises(DoesNotFit, match=r"Llama-3.1-70B bf16 .* A100 SXM 80 GB: 131.4 GiB .* 61.1 GiB more"):
        pool(model("llama-3.1-70b"), gpu("a100-80"))
    assert pool(model("llama-3.1-70b"), gpu("a100-80"), tp=4).blocks > 10_000


def test_fewer_bits_and_smaller_batches_leave_more_room() -> None:
    plain = pool(LLAMA, gpu("a10g")).blocks
    assert pool(LLAMA, gpu("a10g"), dtype="fp8").blocks > plain
    assert pool(LLAMA, gpu("a10g"), limits=BatchLimits(512, 64)).blocks > plain
    assert pool(LLAMA, gpu("a10g"), kv_dtype="fp8").blocks > 2 * plain - 5


def test_limits_by_memory() -> None:
    ids = ("a10g", "a100-80", "h100-sxm", "b200")
    assert [batch_limits(gpu(id)).tokens for id in ids] == [2048, 2048, 8192, 16384]


@pytest.mark.parametrize("wrong", [{"block_size": 0}, {"utilization": 1.1}, {"tp": 0}])
def test_senseless_options_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        pool(LLAMA, gpu("a10g"), **wrong)
