"""Step times: exact leaps, monotony, and figures that others measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.hardware.catalogue import gpu, gpus, model, models
from kvtui.serving.cost import CostModel
from kvtui.timing.coefficients import engine, forms
from kvtui.timing.kernels import UNMEASURED, allreduce, expert_kernel, expert_layer, kv_rate
from kvtui.timing.roofline import LinearCost, RooflineCost
from kvtui.timing.stepcost import step_cost

MS = 10**9
COSTS: tuple[CostModel, ...] = (
    LinearCost(),
    RooflineCost.of(model("llama-3.1-8b"), gpu("a10g")),
    RooflineCost.of(model("gemma-3-27b"), gpu("h100-sxm")),  # windows
    RooflineCost.of(model("mixtral-8x7b"), gpu("a100-80"), tp=2),  # experts, all-reduce
    step_cost(
        *(model("llama-3.1-8b"), gpu("h100-sxm"), "auto"),
        tp=1,
        engine="vllm",
        drafter=model("llama-3.2-1b"),
        passes=3,
    ),
)
costs = st.sampled_from(COSTS)
counts = st.integers(0, 300)


@given(costs, st.integers(1, 300), st.integers(1, 4096), st.integers(0, 400))
def test_a_leap_is_the_sum_of_its_steps(cost: CostModel, decodes: int, each: int, steps: int) -> None:
    context = decodes * each - decodes // 2
    singly = sum(cost.step(decodes, context + i * decodes, 0, 0) for i in range(steps))
    assert cost.leap(decodes, context, steps) == singly


@given(costs, st.lists(counts, min_size=4, max_size=4), st.lists(counts, min_size=4, max_size=4))
def test_more_work_never_takes_less_time(cost: CostModel, work: list[int], more: list[int]) -> None:
    larger = [a + b for a, b in zip(work, more, strict=True)]
    assert 0 < cost.step(*work) <= cost.step(*larger)
    assert cost.leap(*work[:3]) <= cost.leap(*larger[:3])


def test_a_short_window_is_read_once_and_a_long_one_grows() -> None:
    card = gpu("h100-sxm")
    oss, gemma2 = model("gpt-oss-120b"), model("gemma-2-9b")
    second = kv_rate(card, forms()) * engine("vllm").attention
    beyond = oss.kv_bytes_per_token(beyond_window=True)
    assert RooflineCost.of(oss, card).kv_token == pytest.approx(beyond / second * 1e12, rel=1e-4)
    inside = gemma2.kv_bytes_per_token()
    assert RooflineCost.of(gemma2, card).kv_token == pytest.approx(inside / second * 1e12, rel=1e-4)


def test_every_model_has_a_time_on_every_gpu() -> None:
    for spec in models():
        for card in gpus():
            assert RooflineCost.of(spec, card).step(1, 100, 0, 0) < RooflineCost.of(spec, card).step(
                1, 100, 4096, 4096 * 4097 // 2
            )


def test_the_default_scene_decodes_at_a_believable_pace() -> None:
    cost = RooflineCost.of(model("llama-3.1-8b"), gpu("a10g"))
    assert 30 * MS < cost.step(19, 19 * 450, 0, 0) < cost.step(60, 60 * 560, 0, 0) < 50 * MS


def test_blis_on_an_h100() -> None:
    """Both are fits to a vLLM on an H100; BLIS names no error for its own."""
    assert LinearCost().step(10, 5000, 1000, 0) == pytest.approx((5.75 + 17.3 + 0.06) * MS)
    analytic = RooflineCost.of(model("llama-3.1-8b"), gpu("h100-sxm"))
    assert analytic.step(0, 0, 2048, 2048 * 2049 // 2) == pytest.approx(
        LinearCost().step(0, 0, 2048, 0), rel=0.4
    )


def test_products_keep_of_each_generations_peak_what_its_power_allows() -> None:
    """Alone nine tenths and more of the best shape that stas00/ml-engineering found; in servers 600 to 750 of
    Hopper's 989 TFLOP/s, and more of Ampere's peak."""
    best = {"a100-80": 0.869, "h100-sxm": 0.803}
    for id, share in best.items():
        assert 0.9 * share < gpu(id).efficiency.gemm_mfu < share
    spec = model("llama-3.1-8b")
    work = 2 * spec.params_total * spec.read_share
    kept = {id: work / RooflineCost.of(spec, gpu(id)).token * 1e12 / gpu(id).bf16_flops for id in best}
    assert 600 < kept["h100-sxm"] * 989 < 750
    assert 0.7 < kept["a100-80"] < best["a100-80"]
    assert kept["a100-80"] > 1.05 * kept["h100-sxm"]


def test_a_mixture_reads_only_the_experts_it_visits() -> None:
    oss = model("gpt-oss-120b")
    cost = RooflineCost.of(oss, gpu("h100-sxm"))
    most = cost.experts[-1]
    assert cost.experts[1] == pytest.approx(most * 4 / 128, rel=0.01)
    assert cost.experts[64] == pytest.approx(most * (1 - (1 - 4 / 128) ** 64), rel=0.01)
    assert list(cost.experts) == sorted(cost.experts)
    assert cost.step(1, 1, 0, 0) < cost.step(64, 64, 0, 0) / 2


@given(st.sampled_from(["h100-sxm", "b200", "a10g"]), st.integers(1, 4096))
def test_experts_take_their_fixed_time_and_are_never_faster_than_dense_layers_of_what_is_active(
    card: str, tokens: int
) -> None:
    oss = model("gpt-oss-120b")
    mixture = RooflineCost.of(oss, gpu(card))
    active = oss._replace(
        moe=None, params_total=oss.params_active, checkpoint_bytes=None, checkpoint_dtype="bf16"
    )
    dense = RooflineCost.of(active._replace(intermediate=1), gpu(card))
    kernel = expert_kernel(gpu(card), "mxfp4")[1]
    assert mixture.fixed > oss.layers * kernel.floor_us * 1e6
    assert mixture.step(0, 0, tokens, 0) <= mixture.step(0, 0, tokens + 1, 0)
    assert mixture.token < dense.token, "the rest of a mixture is less than all that is active"


def test_a_mixture_of_which_a_token_visits_all_is_a_dense_model() -> None:
    mixture = model("mixtral-8x7b")
    assert mixture.moe is not None
    all_of_it = mixture._replace(
        moe=mixture.moe._replace(top_k=mixture.moe.experts), params_active=mixture.params_total
    )
    dense = all_of_it._replace(moe=None)
    assert RooflineCost.of(all_of_it, gpu("h100-sxm")) == RooflineCost.of(dense, gpu("h100-sxm"))


def test_kernels_of_experts_are_those_measured_for_their_weights_or_others() -> None:
    known = gpu("h100-sxm").efficiency.experts
    assert expert_kernel(gpu("h100-sxm"), "fp8") == ("fp8", known["fp8"])
    assert expert_kernel(gpu("h100-sxm"), "fp4") == ("mxfp4", known["mxfp4"])
    assert expert_kernel(gpu("h100-sxm"), "mxfp4", "trtllm") == ("mxfp4", known["trtllm mxfp4"])
    assert expert_kernel(gpu("h100-sxm"), "fp8", "trtllm") == ("fp8", known["fp8"])
    assert expert_kernel(gpu("a100-80"), "fp8")[0] == "bf16"
    assert expert_kernel(gpu("t4"), "bf16")[1] == UNMEASURED
    layer = expert_layer(gpu("h100-sxm"), known["bf16"], dtype="bf16", params=1e9, top=1 / 8, tp=2)
    assert layer.floor == pytest.approx(known["bf16"].floor_us * 1e-6)
    assert layer.read == pytest.approx(1e9 / (3.35e12 * known["bf16"].mbu), rel=0.01)
    assert layer.token == pytest.approx(1e9 / 8 / (989e12 * known["bf16"].mfu), rel=0.01)


def test_an_eager_engine_is_slower_and_gpus_together_are_faster() -> None:
    llama, card = model("llama-2-70b"), gpu("h100-sxm")
    today, eager = (RooflineCost.of(llama, card, tp=4, engine=engine(name)) for name in ("vllm", "vllm-2023"))
    assert eager.step(1, 200, 0, 0) > 1.5 * today.step(1, 200, 0, 0)
    alone, eight = (RooflineCost.of(llama, card, tp=n).step(8, 8000, 0, 0) for n in (1, 8))
    assert alone / 8 < eight < alone / 4


def test_switches_add_up_over_a_whole_board_of_hopper() -> None:
    """1 GiB over eight H100 takes 4.0 ms in NVIDIA's table, less than twice what four take for a half."""
    eight, four = (allreduce(gpu("h100-sxm"), forms(), tp=tp).seconds(2**30) for tp in (8, 4))
    assert eight == pytest.approx(4.0e-3, rel=0.1)
    assert eight < four
    older = [allreduce(gpu("a100-80"), forms(), tp=tp).seconds(2**30) for tp in (8, 4)]
    assert older[0] > older[1]


def test_small_sums_take_longer_the_more_gpus_share_no_link() -> None:
    starts = [allreduce(gpu("l40s"), forms(), tp=tp).seconds(1024) for tp in (2, 4, 8)]
    assert starts == pytest.approx([5.1e-6, 14.9e-6, 27.5e-6], rel=0.03)


def test_sums_over_a_slow_link_take_most_of_a_prompt() -> None:
    llama = model("llama-3.1-8b")
    fast, slow = (RooflineCost.of(llama, gpu(id), tp=2).link[3] for id in ("a100-80", "a100-80-pcie"))
    assert slow > 5 * fast


def test_passes_of_a_drafter_are_steps_of_its_own_without_the_host() -> None:
    big, small, card, profile = model("llama-3.1-70b"), model("llama-3.2-1b"), gpu("h200"), engine("vllm")
    target = step_cost(big, card, "auto", tp=1, engine="vllm")
    one, four = (step_cost(big, card, "auto", tp=1, engine="vllm", drafter=small, passes=n) for n in (1, 4))
    alone = step_cost(small, card, "auto", tp=1, engine="vllm")
    host = profile.base_us + 8 * profile.sequence_us
    plain, drafted = target.step(8, 8000, 0, 0), one.step(8, 8000, 0, 0)
    assert drafted - plain == pytest.approx(alone.step(8, 8000, 0, 0) - host * 1e6, rel=1e-6)
    further = four.step(8, 8000, 0, 0) - drafted
    assert 3 * (drafted - plain) <= further <= 3.01 * (drafted - plain), "the context grows in between"
    prompts = one.step(0, 0, 8192, 8192 * 4096) - target.step(0, 0, 8192, 8192 * 4096)
    assert prompts > 4 * (drafted - plain), "it stores K and V of prompts, too"
