"""Parameters counted from the fields of a `config.json` against what is published of the models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvtui.answers.capacity import Question, capacity
from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import gpu
from kvtui.hardware.hfconfig import model_of
from kvtui.hardware.sizing import pool

Config = dict[str, Any]


def shaped(kind: str, layers: int, hidden: int, heads: str, width: int, vocab: int, **more: Any) -> Config:
    """`heads` are attention heads, KV heads and the size of one: "32/8/128"."""
    count, kv, size = map(int, heads.split("/"))
    return {
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": count,
        "num_key_value_heads": kv,
        "head_dim": size,
        "intermediate_size": width,
        "vocab_size": vocab,
        **more,
    }


def experts(count: int, top: int, width: int | None = None, **more: Any) -> Config:
    wide = {} if width is None else {"moe_intermediate_size": width}
    return {"num_experts": count, "num_experts_per_tok": top, **wide, **more}


def delta(values: int) -> Config:
    """Of Qwen3-Next and Qwen3.5."""
    return {
        "full_attention_interval": 4,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": values,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "attn_output_gate": True,
    }


def nemotron(heads: int, state: int, **more: Any) -> Config:
    said = {"mamba_num_heads": heads, "mamba_head_dim": 64, "ssm_state_size": state}
    return said | {"n_groups": 8, "conv_kernel": 4} | more


NANO = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
SUPER = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
H56 = "M-M-M-M*" + "-M-M-M-M-M*" * 9 + "-M-M-M-M-M-"
WORDS = {"M": "mamba", "E": "moe", "*": "attention"}
SCOUT = {"num_local_experts": 16, "num_experts_per_tok": 1, "intermediate_size_mlp": 16384}
GRANITE = {"mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1}
JAMBA = {
    **{"attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1},
    **{"mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_dt_rank": 256},
}

# Fields as in the published files; parameters in all and of a token, in billions, to the digit in which they
# are published, and where. A checkpoint's sum is the `safetensors` total that the Hugging Face hub shows.
PUBLISHED: list[tuple[str, Config, str, str]] = [
    (
        "Llama-4-Scout: checkpoint 108,641,793,536, of which 871,932,416 in the vision encoder",
        shaped("llama4_text", 48, 5120, "40/8/128", 8192, 202048, interleave_moe_layer_step=1) | SCOUT,
        "107.770",
        "17.17",
    ),
    (
        "Llama-4-Maverick: checkpoint 401,583,781,376, less the same encoder",
        shaped("llama4_text", 48, 5120, "40/8/128", 8192, 202048, interleave_moe_layer_step=2)
        | SCOUT
        | {"num_local_experts": 128},
        "400.712",
        "17.18",
    ),
    (
        "Jamba-v0.1: checkpoint as the open LLM leaderboard read it; 12 active by its card",
        shaped("jamba", 32, 4096, "32/8/128", 14336, 65536) | experts(16, 2) | JAMBA,
        "51.57",
        "12",
    ),
    (
        "Qwen3.5-27B: checkpoint 27,781,427,952, less a layer of drafts (0.42) and the encoder (0.46)",
        shaped("qwen3_5_text", 64, 5120, "24/4/256", 17408, 248320) | delta(48),
        "26.9",
        "26.9",
    ),
    (
        "Qwen3-Next-80B-A3B: checkpoint 81,324,862,720, less a layer of drafts (1.651)",
        shaped("qwen3_next", 48, 2048, "16/2/256", 5120, 151936, shared_expert_intermediate_size=512)
        | experts(512, 10, 512)
        | delta(32),
        "79.674",
        "3.9",
    ),
    (
        "Nemotron-3-Nano-30B-A3B: `total_parameters` of its index; 3.6 active with embeddings by its report",
        shaped("nemotron_h", 52, 2688, "32/2/128", 1856, 131072, hybrid_override_pattern=NANO)
        | nemotron(64, 128, n_shared_experts=1, moe_shared_expert_intermediate_size=3712)
        | experts(128, 6, 1856),
        "31.578",
        "3.6",
    ),
    (
        "the same, its layers listed word by word and not counted",
        shaped("nemotron_h", 52, 2688, "32/2/128", 1856, 131072)
        | nemotron(64, 128, n_shared_experts=1, moe_shared_expert_intermediate_size=3712)
        | experts(128, 6, 1856)
        | {"num_hidden_layers": None, "layers_block_type": [WORDS[letter] for letter in NANO]},
        "31.578",
        "3.6",
    ),
    (
        "Nemotron-3-Super-120B-A12B, whose experts work on a narrower stream: its technical report",
        shaped("nemotron_h", 88, 4096, "32/2/128", 2688, 131072, hybrid_override_pattern=SUPER)
        | nemotron(128, 128, n_shared_experts=1, moe_shared_expert_intermediate_size=5376)
        | experts(512, 22, 2688, moe_latent_size=1024),
        "120.6",
        "12.7",
    ),
    (
        "Nemotron-H-56B: its name, and the layers of its config.json",
        shaped("nemotron_h", 118, 8192, "64/8/128", 32768, 131072, hybrid_override_pattern=H56)
        | nemotron(256, 256),
        "56",
        "56",
    ),
    (
        "Gemma-4-26B-A4B: its card; the checkpoint has 25,805,936,206 with an encoder of 0.55",
        shaped("gemma4_text", 30, 2816, "16/8/256", 2112, 262144, sliding_window=1024)
        | experts(128, 8, 704, enable_moe_block=True, attention_k_eq_v=True)
        | {"layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5}
        | {"global_head_dim": 512, "num_global_key_value_heads": 2},
        "25.2",
        "3.8",
    ),
    (
        "Granite-4.0-H-Small: checkpoint of 59.99 GiB; 9 active by its card",
        shaped("granitemoehybrid", 40, 4096, "32/8/128", 768, 100352, tie_word_embeddings=True)
        | experts(72, 10, shared_intermediate_size=1536)
        | GRANITE
        | {"mamba_d_conv": 4, "layer_types": (["mamba"] * 9 + ["attention"]) * 4},
        "32.21",
        "9",
    ),
]


def half(figure: str) -> float:
    """Half of the last digit that a figure has."""
    return 0.5 / 10 ** len(figure.partition(".")[2])


@pytest.mark.parametrize(("config", "total", "active"), [row[1:] for row in PUBLISHED])
def test_parameters_are_the_published_ones(tmp_path: Path, config: Config, total: str, active: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = model_of(tmp_path)
    assert found.params_total / 1e9 == pytest.approx(float(total), abs=half(total) + 0.001 * float(total))
    assert found.params_active / 1e9 == pytest.approx(float(active), abs=half(active) + 0.01 * float(active))
    assert not found.left_out
    assert not found.assumed


def test_three_billion_active_are_without_embeddings(tmp_path: Path) -> None:
    """Qwen3-Next-80B-A3B, whose card says 3."""
    (config,) = (row[1] for row in PUBLISHED if row[0].startswith("Qwen3-Next"))
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = model_of(tmp_path)
    assert (found.params_active - 2 * found.vocab * found.hidden) / 1e9 == pytest.approx(3, abs=0.5)


LLAMA = shaped("llama", 32, 4096, "32/8/128", 14336, 128256)
KIMI = LLAMA | {"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [4, 8]}}
SEEING = {"model_type": "qwen3_vl", "text_config": LLAMA, "vision_config": {"depth": 27}}
LINEAR = "weights of the linear-attention layers"


def fp8_but(*names: str) -> Config:
    return LLAMA | {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": names}}


@pytest.mark.parametrize(
    ("config", "counted", "weighed"),
    [
        (LLAMA, [], []),
        (KIMI, [LINEAR, "states of the linear-attention layers"], ["states of the linear-attention layers"]),
        (fp8_but("model.layers.*.self_attn", "lm_head"), ["weights that stay in 16 bits"], []),
        (fp8_but("re:.*shared_experts.*"), ["weights that stay in 16 bits"], []),
        (fp8_but("lm_head", "model.layers.0.mlp.gate", "model.layers.0.input_layernorm", "mtp*"), [], []),
        (SEEING, ["the vision encoder"], ["buffers of the vision encoder"]),
        (
            SEEING | {"vision_config": None, "audio_config": {"a": 1}},
            ["the audio encoder"],
            ["buffers of the audio encoder"],
        ),
    ],
)
def test_weights_that_are_not_known_make_an_upper_bound(
    tmp_path: Path, config: Config, counted: list[str], weighed: list[str]
) -> None:
    """Unless the index beside it says what all weights take."""
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert list(pool(model_of(tmp_path), gpu("h100-sxm")).left_out) == counted
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 16000000000}}')
    assert list(pool(model_of(tmp_path), gpu("h100-sxm")).left_out) == weighed


def test_weights_of_several_types_are_not_guessed(tmp_path: Path) -> None:
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "bits": 8}
    (tmp_path / "config.json").write_text(json.dumps(LLAMA | {"quantization_config": mixed}))
    with pytest.raises(ConfigError, match="several types"):
        model_of(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 16000000000}}')
    assert model_of(tmp_path).weight_bytes() == 16_000_000_000


def test_layers_that_are_an_mlp_alone_are_refused_where_nobody_knows_the_others(tmp_path: Path) -> None:
    alone = LLAMA | {"layers_block_type": ["attention", "moe"] * 16}
    (tmp_path / "config.json").write_text(json.dumps(alone))
    with pytest.raises(ConfigError, match="layers of several kinds"):
        model_of(tmp_path)


@pytest.mark.parametrize("kind", ["alien_arch", None])
def test_an_architecture_that_is_not_known_is_said_to_be_read_as_another(tmp_path: Path, kind: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA | {"model_type": kind}))
    said = capacity(Question(model_of(tmp_path), gpu("h100-sxm")))["model"]["assumed"]
    assert said.endswith("is not known: read as a model of the Llama family")
    assert str(kind or "without model_type") in said
