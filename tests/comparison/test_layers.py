"""Models whose layers differ: the groups and the number of blocks are those that vLLM 0.32 makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvtui.answers.report import summary
from kvtui.backends.ghost import GhostObserver, contents_of
from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import block_size_of, layers_of, longest, slot_share
from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.hardware.hfconfig import model_of
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.groups import groups_of
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import UNLIMITED
from kvtui.serving.rules import Rules
from tests.serving.build import workload
from tests.serving.digest import run

GIB = 2**30
COMMON = {"vocab_size": 1000, "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16"}
QWEN_NEXT = COMMON | {
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "full_attention_interval": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "intermediate_size": 5120,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}
GRANITE = COMMON | {
    "model_type": "granitemoehybrid",
    "hidden_size": 4096,
    "num_hidden_layers": 40,
    "intermediate_size": 768,
    "layer_types": (["mamba"] * 9 + ["attention"]) * 4,
    "mamba_n_heads": 128,
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "mamba_n_groups": 1,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
}
NEMOTRON = COMMON | {
    "model_type": "nemotron_h",
    "hidden_size": 4096,
    "num_hidden_layers": 56,
    "intermediate_size": 21504,
    "head_dim": 128,
    "hybrid_override_pattern": ("M-" * 6 + "*-") * 4,
    "mamba_num_heads": 128,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
}
JAMBA = COMMON | {
    "model_type": "jamba",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_expand": 2,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
}
# Layers of each group and blocks of 16 tokens in 20 GiB, as vLLM's get_kv_cache_groups and
# get_kv_cache_config_from_groups answer for layers of these shapes.
REAL = {
    "gemma-2-9b": ([21, 21], 7801),
    "gemma-2-27b": ([23, 23], 7123),
    "gemma-3-12b": ([8, 8, 8, 8, 8, 8], 20480),
    "gemma-3-27b": ([9, 9, 9, 9, 8, 8, 10], 16384),
    "gpt-oss-20b": ([12, 12], 54613),
    "gpt-oss-120b": ([18, 18], 36408),
}


@pytest.mark.parametrize("id", REAL)
def test_groups_and_blocks(id: str) -> None:
    model = catalogue.model(id)
    layers, blocks = REAL[id]
    assert [len(g.layers) for g in groups_of(layers_of(model), 16, Rules(8192))] == layers
    part, whole = slot_share(model)
    assert 20 * GIB // (16 * model.kv_bytes_per_token() * part // whole) == blocks


@pytest.mark.parametrize("id", ["llama-3.1-8b", "deepseek-v3", "llama-4-scout"])
def test_one_block_table_for_all(id: str) -> None:
    model = catalogue.model(id)
    assert layers_of(model) == ()
    assert slot_share(model) == (1, 1)


def test_layers_of_another_width() -> None:
    gemma = catalogue.model("gemma-3-12b")
    sliding, full = gemma.kv_groups
    model = gemma._replace(kv_groups=(sliding, full._replace(kv_heads=2 * full.kv_heads)))
    assert set(layers_of(model)) == {"sliding:1024", "full*2"}
    groups = groups_of(layers_of(model), 16, Rules(8192))
    assert {(g.window, g.size) for g in groups} == {(1024, 32), (None, 16)}
    assert slot_share(model) == (8 * 2 * 16 * 256, 40 * 2 * 8 * 256 + 8 * 2 * 16 * 256)


STATES = {
    # Tokens a block; layers of each group and blocks in 20 GiB, as the same functions of vLLM answer.
    "qwen3_next": (QWEN_NEXT, 544, [12, 12, 12, 12], 1606),
    "granitemoehybrid": (GRANITE, 528, [4] * 10, 2482),
    "nemotron_h": (NEMOTRON, 1040, [4] * 7, 1260),
    "jamba": (JAMBA, 80, [4] * 8, 16384),
}


@pytest.mark.parametrize("kind", STATES)
def test_states_beside_attention(kind: str, tmp_path: Path) -> None:
    config, size, groups, blocks = STATES[kind]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 10000000000}}')
    model = model_of(tmp_path)
    assert block_size_of(model, 16, tp=1, each=model.kv_bytes_per_token()) == size
    assert block_size_of(model, 2 * size, tp=1, each=model.kv_bytes_per_token()) == 2 * size
    assert [len(g.layers) for g in groups_of(layers_of(model), size, Rules(8192))] == groups
    part, whole = slot_share(model)
    assert 20 * GIB // (size * model.kv_bytes_per_token() * part // whole) == blocks


def test_states_that_cannot_be_shared_evenly_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GRANITE))  # one group of heads
    model = model_of(tmp_path)
    assert layers_of(model, 2) == ()
    assert block_size_of(model, 16, tp=2, each=model.kv_bytes_per_token(tp=2)) == 16


def test_a_lane_whose_blocks_hold_states() -> None:
    tried = experiment("qwen3.5-35b-a3b", slots=1056 * 200)
    contiguous, paged = tried.build(watched=False)
    assert contiguous.info.block_size == 16
    assert paged.info.subtitle == "1056-token blocks, 4 groups of layers"
    assert paged.info.pool_bytes == 200 * 1056 * tried.model.kv_bytes_per_token()
    paged.engine.run()
    report = summary(tried, [contiguous, paged])["lanes"][1]
    assert [group["attention"] for group in report["layer_groups"]] == ["full", "mamba", "mamba", "mamba"]
    assert report["requests"]["finished"] == 20
    assert any("1,056 tokens" in text for text in tried.assumptions)


def test_a_region_holds_states_from_the_first_token_on() -> None:
    tried = experiment("qwen3.5-35b-a3b", "contiguous:exact", slots=400_000)
    (lane,) = tried.build()
    each = -(-30 * 2_146_304 // tried.model.kv_bytes_per_token())
    assert lane.engine.manager.beside == each == 3144
    assert any("3,144 slots more" in text for text in tried.assumptions)
    lane.engine.step()
    frame = lane.frame()
    (first,) = frame.running[:1]
    assert frame.cells.stored.sum() == sum(row.computed + each for row in frame.running)
    assert first.held == -(-(first.prompt + first.output + each) // 16) * 16
    lane.run()
    assert lane.engine.results.finished == 20
    assert lane.engine.scheduler.stored == lane.engine.scheduler.final == 0


def test_cached_states_need_prompts_in_chunks() -> None:
    options = {"slots": 1056 * 200, "chunked_prefill": False, "max_num_batched_tokens": 4096}
    with pytest.raises(ConfigError, match="computed in chunks"):
        experiment("qwen3.5-35b-a3b", "paged", **options).build()
    tried = experiment("qwen3.5-35b-a3b", "paged:prefix_cache=off", **options)
    (lane,) = tried.build(watched=False)
    lane.engine.run()
    assert summary(tried, [lane])["lanes"][0]["requests"]["finished"] == 20


def experiment(id: str, *lanes: str, **options: object) -> Experiment:
    specs = tuple(LaneSpec.parse(text) for text in lanes or ("contiguous", "paged"))
    rows = [(0.1 * i, 300 + 40 * i, 60 + 7 * i) for i in range(20)]
    return Experiment(workload(rows), catalogue.model(id), catalogue.gpu("h100-sxm"), specs, **options)


def test_lanes_have_the_same_bytes() -> None:
    for options in ({}, {"slots": 16000}):
        contiguous, paged = experiment("gemma-3-12b", **options).build(watched=False)
        assert isinstance(paged.engine.manager, GroupedMemoryManager)
        assert paged.engine.manager.tables == 6
        assert contiguous.info.pool_bytes == pytest.approx(paged.info.pool_bytes, rel=0.01)
    assert paged.info.blocks == 1000
    assert paged.info.subtitle == "16-token blocks, 6 groups of layers"


def test_report_tells_the_groups() -> None:
    tried = experiment("gpt-oss-20b")
    lanes = tried.build(watched=False)
    contiguous, paged = summary(tried, lanes)["lanes"]
    assert contiguous["layer_groups"] is None
    assert paged["layer_groups"] == [
        {"attention": "sliding", "window": 128, "layers": 12, "block_size": 16},
        {"attention": "full", "window": None, "layers": 12, "block_size": 16},
    ]


def test_what_is_assumed_of_layers() -> None:
    assert not experiment("gemma-2-9b", utilization=0.92).assumptions[1:]
    older = experiment("gemma-2-9b", utilization=0.92, vllm="0.24", async_scheduling=True).assumptions[1:]
    assert [text.partition(":")[0] for text in older] == ["windows of layers", "asynchronous scheduling"]
    assert "by the rules of vLLM 0.32" in older[0]
    assert "chunked" in experiment("llama-4-scout", slots=16000, tp=8).assumptions[-1]
    (lane,) = experiment("llama-4-scout", "paged", slots=16000, tp=8).build(watched=False)
    assert isinstance(lane.engine.manager, PagedMemoryManager)


def test_the_longest_request_is_as_long_as_the_pool_allows() -> None:
    layers = layers_of(catalogue.model("gemma-3-12b"))

    def rules(length: int) -> Rules:
        return Rules(length, max_num_batched_tokens=256)

    for blocks in (6, 50, 600, 2000):
        length = longest(layers, blocks, 16, rules)
        needs = [
            sum(min(g.blocks_for(n), g.most or blocks) for g in groups_of(layers, 16, rules(n)))
            for n in (length, length + 1)
        ]
        assert needs[0] <= blocks < needs[1]


def lane_of(id: str) -> Lane:
    (lane,) = experiment(id, "paged", slots=16 * 500).build(watched=False)
    return lane


@pytest.mark.parametrize("id", ["gemma-3-12b", "gpt-oss-20b"])
def test_any_number_of_steps_a_call_gives_one_run(id: str) -> None:
    single, leaping = (run(lane_of(id).engine, limit) for limit in (1, UNLIMITED))
    assert single == leaping


def test_windows_free_what_full_attention_holds() -> None:
    """In the same bytes more requests run at once than if every layer kept everything."""
    peaks = []
    for id in ("gpt-oss-20b", DEFAULT_MODEL):
        model = catalogue.model(id)
        rows = [(0.0, 2000, 50)] * 40
        gpu = catalogue.gpu(DEFAULT_GPU)
        part, whole = slot_share(model)
        slots = 16 * 1000 * whole // part  # 16,000 tokens in all layers
        tried = Experiment(workload(rows), model, gpu, (LaneSpec("paged"),), slots=slots)
        (lane,) = tried.build(watched=False)
        lane.run()
        peaks.append(lane.engine.meter.peak)
    assert peaks[0] > 1.5 * peaks[1]


@pytest.mark.parametrize(
    ("id", "blocks", "options"),
    [
        ("gemma-3-12b", 400, {}),
        ("gpt-oss-20b", 130, {"spec_method": "eagle", "async_scheduling": True}),
        ("gpt-oss-20b", 130, {"spec_method": "mtp", "vllm": "0.32"}),
    ],
)
def test_every_request_reads_its_own_context(id: str, blocks: int, options: dict[str, object]) -> None:
    rows = [(0.001 * i, 400 + 10 * i, 200) for i in range(8)]
    shared = workload(rows, shared=320)
    lanes = (LaneSpec("paged"),)
    gpu = catalogue.gpu("h100-sxm")
    tried = Experiment(shared, catalogue.model(id), gpu, lanes, slots=16 * blocks, **options)
    (lane,) = tried.build(watched=False)
    ghost = GhostObserver(lane.engine, lambda request: contents_of(request, 16))
    lane.run()
    assert ghost.reads > 100_000
    assert lane.engine.results.finished == 8
    assert lane.engine.scheduler.prefix.hits > 0
    assert lane.engine.scheduler.preemptions > 0
