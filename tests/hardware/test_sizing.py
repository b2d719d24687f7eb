"""Pool sizes against what vLLM and others report."""

from __future__ import annotations

import pytest

from kvtui.errors import ConfigError, DoesNotFit
from kvtui.hardware.catalogue import gpu, model
from kvtui.hardware.measuredpools import MeasuredPool, judged, measured_pools, pool_error
from kvtui.hardware.sizing import BatchLimits, batch_limits, pool
from kvtui.hardware.startup import GIB, activation_bytes, captured_graphs, fuses_all_reduce, graph_bytes

LLAMA = model("llama-3.1-8b")


def test_the_default_scene_has_room_for_15_full_reservations() -> None:
    scene = pool(LLAMA, gpu("a10g"))
    assert 1950 <= scene.blocks <= 2050
    assert scene.tokens // 2048 == 15


@pytest.mark.parametrize(("vllm", "share"), [("0.16", 0.9), ("0.33", 0.92)])
def test_vllms_own_share_unless_it_is_given(vllm: str, share: float) -> None:
    assert pool(LLAMA, gpu("l4"), vllm=vllm) == pool(LLAMA, gpu("l4"), utilization=share, vllm=vllm)


def test_an_h100_as_blis_sees_it() -> None:
    assert pool(LLAMA, gpu("h100-sxm"), utilization=0.9).blocks == pytest.approx(26_312, rel=0.05)


KNOWN = measured_pools()


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row.model}, {row.tp} x {row.gpu}, {row.vllm}")
def test_pools_as_measured(row: MeasuredPool) -> None:
    """Servers of others, end to end: each within 5 % or called an upper bound, which it is."""
    told = judged(row.estimate, gpu(row.gpu))
    assert told.upper_bound or abs(row.error_pct) <= 5
    assert row.error_pct > -1.5


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row.model}, {row.tp} x {row.gpu}, {row.vllm}")
def test_a_server_that_nobody_knew_is_judged_right_too(
    row: MeasuredPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule for the label, each server judged by the others."""
    others = tuple(other for other in KNOWN if other is not row)
    monkeypatch.setattr("kvtui.hardware.measuredpools.measured_pools", lambda: others)
    pool_error.cache_clear()
    told = judged(row.estimate, gpu(row.gpu))
    pool_error.cache_clear()
    assert told.upper_bound or abs(row.error_pct) <= 5


def test_dense_models_on_the_h100_are_within_a_hundredth() -> None:
    """One to four GPUs, weights of 16, 8 and 4 bits, vLLM 0.11 to 0.19."""
    rows = [row for row in KNOWN if row.gpu == "h100-sxm" and not row.estimate.left_out]
    assert len(rows) >= 25
    assert {row.tp for row in rows} == {1, 2, 4}
    errors = sorted(abs(row.error_pct) for row in rows)
    assert errors[-1] <= 1.5
    assert errors[-2] <= 0.5


def test_several_gpus_that_fuse_no_all_reduce_keep_its_workspace() -> None:
    """Two RTX PRO 6000, vLLM 0.28: the H100's workspace and graphs that were not counted made it 6 % less."""
    (row,) = (row for row in KNOWN if row.gpu == "rtx-pro-6000" and row.tp == 2)
    assert abs(row.error_pct) <= 0.5
    kinds = {id: fuses_all_reduce(gpu(id)) for id in ("h100-sxm", "b200", "rtx-pro-6000", "l40s", "a100-80")}
    assert kinds == {"h100-sxm": True, "b200": True, "rtx-pro-6000": False, "l40s": False, "a100-80": False}


@pytest.mark.parametrize(("seqs", "graphs"), [(128, 35 + 19), (256, 51 + 35), (1024, 51 + 51)])
def test_graphs_as_logged(seqs: int, graphs: int) -> None:
    assert captured_graphs(seqs) == graphs


@pytest.mark.parametrize(
    ("vllm", "dense", "mixture"),
    [("0.19.0", False, False), ("0.20", True, True), ("0.28", False, True), ("0.32", True, True)],
)
def test_versions_that_take_graphs_off_the_pool(vllm: str, dense: bool, mixture: bool) -> None:
    for id, counted in (("llama-3.1-8b", dense), ("qwen3-30b-a3b", mixture)):
        assert bool(graph_bytes(model(id), seqs=256, vllm=vllm)) is counted


def test_what_is_known_of_an_estimate() -> None:
    """By the GPU's own servers, or by all; and only by those that left as much out."""
    own, other, mixture = (
        pool_error(id, complete=complete)
        for id, complete in (("rtx4090", True), ("l4", True), ("h100-sxm", False))
    )
    assert (own.servers, own.this_gpu, round(own.most_pct, 1)) == (1, True, 7.4)
    assert (other.servers, other.this_gpu, round(other.most_pct, 1)) == (
        len(KNOWN) - mixture.servers,
        False,
        7.4,
    )
    assert mixture.servers < 10
    assert mixture.most_pct <= 5


def test_the_label_goes_by_what_may_be_missing_of_this_pool() -> None:
    """The same GPU, which took 0.4 GiB more than estimated: much of what a model of 8 billion leaves, little
    of what one of 1 billion does."""
    small, large = (pool(model(id), gpu("rtx4090")) for id in ("llama-3.1-8b", "llama-3.2-1b"))
    assert judged(small, gpu("rtx4090")).left_out == (
        "what a start may take beyond that (0.4 GiB more on this GPU)",
    )
    assert not judged(large, gpu("rtx4090")).upper_bound


@pytest.mark.parametrize(
    ("id", "vllm", "gib"),
    [
        *(("llama-3.1-8b", "0.19", 1.89), ("qwen3-8b", "0.19", 2.21), ("gemma-2-9b", "0.19", 3.63)),
        *(("phi-4", "0.19", 1.52), ("qwen2.5-72b", "0.19", 2.29), ("llama-2-7b", "0.19", 0.77)),
        *(("llama-3.1-8b", "0.11", 4.76), ("qwen3-14b", "0.16", 5.64), ("qwen3-14b", "0.17", 2.23)),
    ],
)
def test_activations_as_measured(id: str, vllm: str, gib: float) -> None:
    """The "torch peak memory increase" of logs on an H100; CodeLlama-7B has the shape of Llama-2-7B."""
    found = activation_bytes(model(id), tokens=8192, seqs=1024, vllm=vllm)
    assert found / GIB == pytest.approx(gib, rel=0.11 if id == "llama-2-7b" else 0.055)


def test_blocks_bytes_and_tokens_agree_to_the_token() -> None:
    sized = pool(LLAMA, gpu("l4"), block_size=32)
    assert sized.bytes // LLAMA.kv_bytes_per_token() == sized.tokens == 32 * sized.blocks
    left = sum(term.bytes for term in sized.terms)
    assert 0 <= left - sized.bytes - sized.block_bytes < sized.block_bytes, "one null block, no more"


def test_four_mib_a_block_of_64_tokens() -> None:
    """16 of 64 layers keep KV, 4 heads of 256."""
    groups = tuple(group._replace(layers=16, kv_heads=4, head_dim=256) for group in LLAMA.kv_groups)
    hybrid = LLAMA._replace(layers=64, kv_groups=groups)
    assert pool(hybrid, gpu("h100-sxm"), block_size=64).block_bytes == 4 * 2**20


def test_what_has_no_estimate_makes_it_an_upper_bound() -> None:
    assert not pool(LLAMA, gpu("a10g")).upper_bound
    mixture = pool(model("qwen3-30b-a3b"), gpu("h100-sxm"))
    assert mixture.upper_bound
    assert mixture.left_out == ("buffers of the experts",)
    assert len(pool(model("qwen3.5-35b-a3b"), gpu("h200")).left_out) == 2


def test_a_model_that_does_not_fit_says_by_how_much() -> None:
    with pytest.raises(DoesNotFit, match=r"Llama-3.1-70B bf16 .* A100 SXM 80 GB: 131.4 GiB .* 61.0 GiB more"):
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
