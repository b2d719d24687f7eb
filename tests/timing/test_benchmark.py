"""Closed loops of clients, and what is known of published ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.hardware.catalogue import gpu, model
from kvtui.timing.benchmark import Batching, Load, closed_loop
from kvtui.timing.campaigns import batching, shortest_length
from kvtui.timing.roofline import LinearCost, RooflineCost
from kvtui.timing.steptime import Row, check

MS = 10**9
TOKENS = LinearCost(base=MS, per_prefill=MS // 100, per_decode=0)  # a step 1 ms, and 10 us a prompt token
MIXED = Batching(2048)


def row(**cells: str) -> Row:
    return Row(2, cells, 0.01)


def test_a_client_alone_waits_for_its_prompt_and_for_each_token() -> None:
    alone = closed_loop(TOKENS, Load(1, 100, 5), MIXED)
    assert alone.ttft == pytest.approx(2e-3)
    assert alone.tpot == pytest.approx(1e-3)


def test_the_way_to_the_server_counts_for_first_tokens_alone() -> None:
    far = closed_loop(TOKENS, Load(1, 100, 5), MIXED, way=7 * MS)
    assert far.ttft == pytest.approx(9e-3)
    assert far.tpot == pytest.approx(1e-3)


def test_prompts_that_go_first_hold_the_decodes_up() -> None:
    """Two prompts, a step each: the first request's next token comes after the second's prompt."""
    load, room = Load(2, 100, 2), 100
    mixed = closed_loop(TOKENS, load, Batching(room + 1))
    first = closed_loop(TOKENS, load, Batching(room, beside=False))
    assert mixed.tpot == pytest.approx(2e-3, rel=0.03)  # with the other prompt, but for the last
    assert first.ttft == pytest.approx((2 + 4) / 2 * 1e-3)  # both at once again and again
    assert first.tpot == pytest.approx(((2 + 1) + 1) / 2 * 1e-3)


def test_a_prompt_that_is_not_parted_waits_for_a_step_of_its_own() -> None:
    parted, whole = (
        closed_loop(TOKENS, Load(2, 100, 1), Batching(150, parted=parted)) for parted in (True, False)
    )
    assert parted.ttft < whole.ttft
    large = closed_loop(TOKENS, Load(1, 400, 1), Batching(150, parted=False))
    assert large.ttft == pytest.approx(5e-3)  # larger than a step: alone, as it could not run else


def test_equal_lengths_keep_clients_together_and_spread_ones_do_not() -> None:
    """With a way longer than a step all have ended before the first comes back."""
    equal, spread = (
        closed_loop(TOKENS, Load(16, 200, 400, shortest), Batching(200, beside=False), way=3 * MS)
        for shortest in (1.0, 0.8)
    )
    assert equal.ttft > 2 * spread.ttft


def test_a_small_pool_makes_them_wait_and_not_slow() -> None:
    cost = RooflineCost.of(model("llama-3.1-8b"), gpu("h100-sxm"))
    free, tight = (
        closed_loop(cost, Load(32, 1000, 100, 0.8), Batching(8192), pool_tokens=tokens)
        for tokens in (None, 4 * 1100)
    )
    assert tight.tpot < free.tpot
    assert tight.ttft > 2 * free.ttft


INFERENCEMAX = "silicon_sample.csv id=2026_04_06_llama_3_1_70b_h100_sxm_vllm_fp8_agg_1024x1024_c4_tp2_ep1_738"
GENERATED = "id=qwen_qwen3_32b_h100_sxm_{}_agg_2048x128_c8_tp1_epnone_4"


def test_lengths_are_those_of_the_campaign_or_of_the_column() -> None:
    assert shortest_length(row(source=INFERENCEMAX)) == 0.8
    assert shortest_length(row(notes="minimaxm2_5_b200_vllm_fp8_agg_8192x1024_c8_cfg633")) == 0.8
    assert shortest_length(row(source=GENERATED.format("vllm"))) == 1
    assert shortest_length(row(source=INFERENCEMAX, range_ratio="0.5")) == 0.5
    assert shortest_length(row(range_ratio="3")) == 1


@pytest.mark.parametrize(
    ("software", "engine", "source", "expected"),
    [
        ("vllm", "vllm 0.12.0", "", Batching(8192)),
        ("vllm", "vllm 0.12.0", GENERATED.format("vllm"), Batching(2048 + 8 + 1500)),
        ("trtllm", "trtllm 1.0.0rc3", "", Batching(8192, parted=False)),
        ("trtllm", "trtllm 1.0.0rc3", GENERATED.format("trtllm"), Batching(3556, parted=False)),
        ("sglang", "sglang 0.5.1.post1", GENERATED.format("sglang"), Batching(8192, beside=False)),
        ("sglang", "sglang 0.5.6.post2", GENERATED.format("sglang"), Batching(3556)),
        ("sglang", "sglang", "", Batching(8192, beside=False)),
    ],
)
def test_servers_batch_as_they_come_or_as_they_were_started(
    software: str, engine: str, source: str, expected: Batching
) -> None:
    cells = {"context_len": "2048", "batch_size": "8", "engine": engine, "source": source}
    assert batching(row(**cells), software, gpu("h100-sxm")) == expected
    told = row(**cells, max_num_batched_tokens="512")
    assert batching(told, software, gpu("h100-sxm")) == expected._replace(budget=512)


def test_columns_change_what_is_predicted() -> None:
    cells = {"gpu": "H100-80GB-SXM", "model": "Llama-3-8B", "engine": "vllm", "phase": "e2e_ttft"}
    cells |= {"scope": "serving_closed_loop", "batch_size": "32", "context_len": "2000", "output_len": "50"}
    plain = row(**cells)
    shorter = replace(plain, cells=cells | {"range_ratio": "0.2"})
    smaller = replace(plain, cells=cells | {"max_num_batched_tokens": "256"})
    one, two, three = (each.predicted for each in check([plain, shorter, smaller]).compared)
    assert two < one
    assert three != one
