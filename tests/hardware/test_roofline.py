"""Step times: exact leaps, monotony, and figures that others measured."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.catalogue import gpu, gpus, model, models
from kvtui.cost import CostModel
from kvtui.roofline import LinearCost, RooflineCost

STEP_TIMES = Path(__file__).parents[2] / "../shared/reference/step_times.csv"
MS = 10**9
COSTS: tuple[CostModel, ...] = (
    LinearCost(),
    RooflineCost.of(model("llama-3.1-8b"), gpu("a10g")),
    RooflineCost.of(model("gemma-3-27b"), gpu("h100-sxm")),  # windows
    RooflineCost.of(model("mixtral-8x7b"), gpu("a100-80"), tp=2),  # experts, all-reduce
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
    beyond = oss.kv_bytes_per_token(beyond_window=True)
    assert RooflineCost.of(oss, card).kv_token == pytest.approx(beyond / 3.35e12 / 0.889 * 1e12, rel=1e-4)
    inside = gemma2.kv_bytes_per_token()
    assert RooflineCost.of(gemma2, card).kv_token == pytest.approx(inside / 3.35e12 / 0.889 * 1e12, rel=1e-4)


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
    assert LinearCost().step(10, 5000, 1000, 0) == pytest.approx((5.75 + 17.3 + 0.06) * MS)
    analytic = RooflineCost.of(model("llama-3.1-8b"), gpu("h100-sxm"))
    assert analytic.step(0, 0, 2048, 2048 * 2049 // 2) == pytest.approx(
        LinearCost().step(0, 0, 2048, 0), rel=0.2
    )


def test_a_mixture_reads_only_the_experts_it_visits() -> None:
    cost = RooflineCost.of(model("gpt-oss-120b"), gpu("h100-sxm"))
    assert cost.dense + cost.experts == pytest.approx(60.8 * 2**30 / (3.35e12 * 0.802) * 1e12, rel=1e-3)
    assert cost.step(1, 1, 0, 0) < cost.step(64, 64, 0, 0) / 3


@pytest.mark.skipif(not STEP_TIMES.exists(), reason="needs the reference data")
@pytest.mark.parametrize(
    ("id", "name", "engine", "error"),
    [
        ("llama-3.1-70b", "meta-llama/Llama-3.1-70B", "vllm", 0.05),
        ("qwen3-32b", "Qwen/Qwen3-32B", "trtllm", 0.05),
        ("llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", "sglang", 0.12),
    ],
)
def test_measured_time_per_token(id: str, name: str, engine: str, error: float) -> None:
    """Closed loop: a decode step, and the longer steps in which the prompts are computed, spread over all."""
    cards = {"H100-80GB-SXM": gpu("h100-sxm"), "H200-141GB-SXM": gpu("h200")}
    errors = []
    for row in csv.DictReader(STEP_TIMES.read_text().splitlines()):
        if row["phase"] != "e2e_tpot" or row["model"] != name or not row["engine"].startswith(engine):
            continue
        batch, prompt, output = (int(row[key]) for key in ("batch_size", "context_len", "output_len"))
        cost = RooflineCost.of(
            replace(model(id), checkpoint_dtype="fp8"), cards[row["gpu"]], tp=int(row["tp"])
        )
        context = batch * (prompt + output // 2)
        decode = cost.step(batch, context, 0, 0)
        mixed = cost.step(batch, context, prompt, prompt * prompt // 2)
        predicted = decode + (mixed - decode) * batch / output
        errors.append(abs(predicted / MS / float(row["measured_ms"]) - 1))
    assert len(errors) >= 8
    assert median(errors) < error
