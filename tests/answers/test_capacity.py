"""How much fits, in the units others report, and the words that go with an estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvtui.answers.capacity import Question, capacity
from kvtui.cli.capacity import render
from kvtui.errors import ConfigError, DoesNotFit
from kvtui.hardware.catalogue import gpu, model
from kvtui.hardware.hfconfig import model_of
from kvtui.hardware.money import Rate, rate, usd_per_million_tokens
from kvtui.hardware.serverlog import parse
from kvtui.hardware.startup import GIB, default_utilization
from kvtui.timing.predict import expected_error
from tests.cli.run import kvtui

LLAMA, H100 = model("llama-3.1-8b"), gpu("h100-sxm")


def test_an_h100_as_others_count_it() -> None:
    """BLIS has 26,312 blocks, as vLLM up to 0.16 had, ridgepoint 54.5 GiB, as later ones; both at 0.9."""
    older, newer = (
        capacity(Question(LLAMA, H100, utilization=0.9, vllm=v))["pool"] for v in ("0.16", "0.19")
    )
    assert older["num_gpu_blocks"] == pytest.approx(26_312, rel=0.005)
    assert newer["bytes"] / GIB == pytest.approx(54.5, rel=0.01)
    assert not older["upper_bound"]
    assert not newer["upper_bound"]


@pytest.mark.parametrize(
    ("id", "kind", "tables"),
    [
        ("llama-3.1-8b", "fp8", 1),
        ("qwen2.5-14b", "fp8", 1),
        ("deepseek-v2-lite", "fp8_ds_mla", 1),
        ("gpt-oss-20b", "auto", 2),
        ("gemma-3-12b", "auto", 6),
    ],
)
def test_bytes_over_bytes_a_token_are_the_tokens_shown(id: str, kind: str, tables: int) -> None:
    """A9, whatever tables the layers have."""
    told = capacity(Question(model(id), H100, kv_dtype=kind))
    pool, kv = told["pool"], told["kv"]
    assert pool["bytes"] == pool["usable_blocks"] * kv["bytes_per_block"]
    assert pool["bytes"] // kv["bytes_per_token"] == pool["tokens"]
    assert pool["tokens"] == pool["usable_blocks"] * kv["block_size"] // tables


def test_a_log_of_layers_with_windows_shows_its_own_tokens() -> None:
    """A9: "5.38 GiB" and "78,384 tokens" of gpt-oss-120b; its longest requests are another count."""
    log = parse("Available KV cache memory: 5.38 GiB\nGPU KV cache size: 78,384 tokens")
    told = capacity(Question(model("gpt-oss-120b"), H100, log=log))
    pool = told["pool"]
    assert pool["reported_tokens"] == 78_384
    assert pool["tokens"] == 78_384 - 16 // 2, "the null block, which holds 16 tokens of half the layers"
    assert pool["bytes"] // told["kv"]["bytes_per_token"] == pool["tokens"]
    assert pool["in_longest_requests"]["length"] == 131_072
    assert pool["in_longest_requests"]["tokens"] > 140_000
    assert "78,376 tokens (by the log 78,384)" in render(told)
    assert "in requests of 131,072: 147,393" in render(told)


def test_tokens_of_the_longest_requests_are_what_vllm_logs() -> None:
    """club-3090 issue 612, vLLM 0.24.0: Qwen3.6-35B-A3B (the shape of 3.5) with KV in fp8."""
    log = parse(
        "Available KV cache memory: 5.98 GiB\nGPU KV cache size: 567,978 tokens\n"
        "Maximum concurrency for 131,072 tokens per request: 4.33x"
    )
    served = model("qwen3.5-35b-a3b")._replace(max_positions=131_072)
    pool = capacity(Question(served, gpu("rtx5090"), kv_dtype="fp8", log=log))["pool"]
    assert pool["in_longest_requests"] == {"length": 131_072, "tokens": 567_978}


def test_heads_that_gpus_cannot_share_are_refused_as_in_a_run() -> None:
    for log in (None, parse("# GPU blocks: 1000")):
        with pytest.raises(ConfigError, match="28 heads: 8 GPUs cannot share them"):
            capacity(Question(model("qwen2.5-7b"), H100, tp=8, log=log))
        with pytest.raises(ConfigError, match="10 KV heads: 4 GPUs can neither share nor repeat them"):
            capacity(Question(model("phi-4"), H100, tp=4, log=log))
    for tp in (1, 2, 5, 10, 20):
        assert capacity(Question(model("phi-4"), H100, tp=tp))["tensor_parallel"] == tp


def test_defaults_follow_the_release() -> None:
    assert [default_utilization(v) for v in ("0.12", "0.16", "0.20", "0.32")] == [0.9, 0.9, 0.92, 0.92]
    old, new = (capacity(Question(LLAMA, H100, vllm=v))["pool"]["terms"] for v in ("0.16", "0.32"))
    assert {t["name"] for t in new} - {t["name"] for t in old} == {"CUDA graphs"}
    for unknown in ("0.10", "0.99", "0.3x", "1.20"):
        with pytest.raises(ConfigError, match="no rules for vLLM"):
            Question(LLAMA, H100, vllm=unknown)


QWEN_NEXT = {
    "model_type": "qwen3_next",
    "num_hidden_layers": 48,
    "full_attention_interval": 4,
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "intermediate_size": 5120,
    "vocab_size": 151936,
    "max_position_embeddings": 262144,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}


def test_states_are_counted_as_vllm_counts_them(tmp_path: Path) -> None:
    """Shape of Qwen3-Next-80B-A3B: blocks of 544 tokens with 12 layers each in four groups, of which three
    keep two states a request at most (vLLM 0.32; a state of a layer has 1,097,728 bytes)."""
    (tmp_path / "config.json").write_text(json.dumps(QWEN_NEXT))
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 40000000000}}')
    told = capacity(Question(model_of(tmp_path), H100), lengths=[544, 4096, 262_144])
    kv, pool = told["kv"], told["pool"]
    assert kv["state_bytes_per_request"] == 36 * 1_097_728
    assert kv["bytes_per_token"] == 12 * 2048
    assert (kv["block_size"], kv["bytes_per_block"]) == (544, 544 * 12 * 2048)
    left = sum(term["bytes"] for term in pool["terms"])
    assert pool["num_gpu_blocks"] == left // kv["bytes_per_block"]
    usable = pool["usable_blocks"]
    assert [fit["requests"] for fit in told["fits"]] == [usable // n for n in (1 + 3, 8 + 6, 482 + 6)]
    assert pool["in_longest_requests"]["tokens"] == (usable + 1) * 262_144 // 488
    assert not pool["left_out"]


def test_states_that_are_not_known_make_an_upper_bound(tmp_path: Path) -> None:
    lacking = QWEN_NEXT | {"linear_conv_kernel_dim": None}
    (tmp_path / "config.json").write_text(json.dumps(lacking))
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 40000000000}}')
    told = capacity(Question(model_of(tmp_path), H100))
    assert told["kv"]["state_bytes_per_request"] is None
    assert told["pool"]["left_out"] == ["states of the linear-attention layers"]


def test_windows_hold_a_part_of_a_long_request() -> None:
    """gpt-oss-20b: 12 layers a block; a window of 128 and a step of 8,192 tokens are all that half of them
    ever needs."""
    told = capacity(Question(model("gpt-oss-20b"), H100), lengths=[1024, 65_536])
    usable = told["pool"]["usable_blocks"]
    assert told["kv"]["bytes_per_block"] == 16 * 12 * 2048
    assert [fit["requests"] for fit in told["fits"]] == [usable // (64 + 64), usable // (4096 + 521)]
    with pytest.raises(ConfigError, match="several kinds"):
        capacity(Question(model("gpt-oss-20b"), H100, drafter=model("llama-3.2-1b")))


def test_what_fits_at_given_lengths() -> None:
    told = capacity(Question(LLAMA, H100, max_num_seqs=50), lengths=[4096, 1_000_000], trace={"mean": 100})
    few, none, mean = told["fits"]
    blocks = told["pool"]["usable_blocks"]
    assert few["requests"] == blocks // 256
    assert few["running"] == 50, "no more than max_num_seqs"
    assert (none["requests"], none["tpot_s"]) == (0, None)
    assert mean["name"] == "trace mean"
    assert few["error"]["held_out"]
    assert few["output_tokens_per_s"] == pytest.approx(50 / few["tpot_s"], rel=1e-3)


def test_a_drafter_takes_its_weights_and_a_part_of_every_block() -> None:
    drafter = model("llama-3.2-1b")
    alone, beside = (capacity(Question(LLAMA, H100, drafter=who)) for who in (None, drafter))
    each = beside["kv"]["bytes_per_token"]
    assert each == LLAMA.kv_bytes_per_token() + drafter.kv_bytes_per_token()
    taken = {term["name"]: term["bytes"] for term in beside["pool"]["terms"]}
    assert taken["weights of the drafter"] == -drafter.weight_bytes()
    left = sum(term["bytes"] for term in alone["pool"]["terms"]) - drafter.weight_bytes()
    assert beside["pool"]["num_gpu_blocks"] == left // (16 * each)


def test_gpus_share_a_drafter_as_they_share_the_model() -> None:
    drafter = model("llama-3.2-1b")
    terms = capacity(Question(LLAMA, H100, drafter=drafter, tp=2))["pool"]["terms"]
    assert terms[-1]["bytes"] == -drafter.weight_bytes() // 2


def test_a_mixture_is_an_upper_bound_and_too_large_is_refused() -> None:
    assert capacity(Question(model("gpt-oss-120b"), H100))["pool"]["upper_bound"]
    with pytest.raises(DoesNotFit, match="GiB more than"):
        capacity(Question(model("llama-3.1-70b"), H100))


def test_a_card_of_24_gib_is_within_five_per_cent_or_an_upper_bound() -> None:
    """A8, the card itself: LLMServingSim's RTX 4090 with vLLM 0.19.0, 2,588 blocks at 0.9."""
    card = gpu("rtx4090")._replace(memory_bytes=25_250_627_584)
    pool = capacity(Question(LLAMA, card, utilization=0.9, vllm="0.19"))["pool"]
    assert 2588 < pool["num_gpu_blocks"] < 2588 * 1.08
    assert pool["upper_bound"]
    assert pool["left_out"] == ["what a start may take beyond that (0.4 GiB more on this GPU)"]
    error = pool["error"]
    assert (error["servers"], error["this_gpu"], error["most_pct"], error["too_large"]) == (
        1,
        True,
        7.4,
        True,
    )
    text = render(capacity(Question(LLAMA, gpu("rtx4090"))))
    assert "at most (upper bound), derived" in text
    assert "such estimates were off by 7.4 % at most on 1 server with this GPU" in text
    text = render(capacity(Question(LLAMA, gpu("l4"))))
    assert "such estimates were off by 7.4 % at most on 32 servers with other GPUs" in text


def test_prices_are_the_users() -> None:
    assert rate(H100, 2.5) == Rate(2.5, "given")
    example = rate(H100)
    assert example is not None
    assert "example of" in example.source
    assert usd_per_million_tokens(Rate(3.6, ""), gpus=2, tokens_per_s=1000) == pytest.approx(2.0)
    assert usd_per_million_tokens(None, gpus=2, tokens_per_s=1000) is None
    assert usd_per_million_tokens(Rate(1, ""), gpus=1, tokens_per_s=0) is None


def test_an_error_is_told_or_there_is_none() -> None:
    token = expected_error("vllm", LLAMA, "each token", gpu=H100)
    assert token is not None
    assert token.held_out
    assert token.median_pct <= 15
    low, high = token.band(1.0)
    assert low < 1 < high
    mixture = expected_error("vllm", model("mixtral-8x7b"), "each token", gpu=H100)
    assert mixture is not None
    assert mixture.median_pct > token.median_pct
    assert token.measured_on == "other models and GPUs: b200, h100-sxm, h200"
    assert token.this_gpu
    elsewhere = expected_error("vllm", LLAMA, "each token", gpu=gpu("a10g"))
    assert elsewhere is not None
    assert elsewhere.measured_on == f"{token.measured_on}; none on a10g"
    assert not elsewhere.this_gpu
    assert expected_error("mine.json", LLAMA, "each token", gpu=H100) is None


def test_the_command(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text("INFO GPU KV cache size: 230,528 tokens\n")
    told = json.loads(kvtui("capacity", "--from-log", str(log), "--json").stdout)
    assert told["pool"]["num_gpu_blocks"] == 230_528 // 16
    assert told["pool"]["label"] == "reported"
    text = kvtui("capacity", "burst", "--gpu", "l4", "--price", "0.5").stdout
    for words in ("KV pool of each GPU", "trace p99", "$0.5 a GPU hour (given)", "held out of the fit"):
        assert words in text
    refused = kvtui("capacity", "--model", "llama-3.1-70b", "--gpu", "l4")
    assert refused.returncode == 2
    assert "GiB more than" in refused.stderr


def test_one_pool_for_flags_and_config(tmp_path: Path) -> None:
    """The catalogue and a config.json of the same shape give the same blocks; a run takes a log's pool."""
    config = {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14336,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    ours, theirs = (
        json.loads(kvtui("capacity", "--model", m, "--gpu", "h100-sxm", "--json").stdout)["pool"]
        for m in ("llama-3.1-8b", str(tmp_path / "config.json"))
    )
    assert theirs["num_gpu_blocks"] == pytest.approx(ours["num_gpu_blocks"], rel=0.001)
    log = tmp_path / "vllm.log"
    log.write_text("# GPU blocks: 1001, # CPU blocks: 0\n")
    run = kvtui("burst", "--limit", "20", "--headless", "--json", "--from-log", str(log))
    told = json.loads(run.stdout)
    assert {lane["kv"]["pool_tokens"] for lane in told["lanes"]} == {16_000}
    assert any("log vllm.log" in text for text in told["config"]["assumed"])
    both = kvtui("burst", "--headless", "--from-log", str(log), "--blocks", "3")
    assert (both.returncode, "give one of them" in both.stderr) == (2, True)


def test_a_run_tells_what_tokens_cost_and_how_far_off_times_are() -> None:
    ran = ("burst", "--limit", "20", "--headless", "--lane", "paged")
    (lane,) = json.loads(kvtui(*ran, "--json", "--price", "3.6").stdout)["lanes"]
    assert lane["cost"]["usd_per_million_tokens"] == pytest.approx(
        1000 / lane["throughput"]["output_tokens_per_s"], rel=1e-4
    )
    assert lane["expected_error"]["tpot_s"]["held_out"]
    text = kvtui(*ran).stdout
    for words in ("$/M tok", "published measurements", "example of"):
        assert words in text
