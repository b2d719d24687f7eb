"""`config.json` of every kind of attention: bytes a token, parameters, and what is refused."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup, ModelSpec, gpu, model
from kvtui.hardware.hfconfig import model_of
from kvtui.hardware.kvtypes import KV_TYPES, element_bytes, kv_type, token_bytes
from kvtui.hardware.sizing import pool

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
}
DEEPSEEK = LLAMA | {
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "vocab_size": 129280,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "quantization_config": {"quant_method": "fp8"},
}
OSS = LLAMA | {
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "head_dim": 64,
    "intermediate_size": 2880,
    "vocab_size": 201088,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
    "sliding_window": 128,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "quantization_config": {"quant_method": "mxfp4"},
}
GEMMA = LLAMA | {
    "model_type": "gemma3_text",
    "num_hidden_layers": 62,
    "hidden_size": 5376,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "intermediate_size": 21504,
    "vocab_size": 262144,
    "sliding_window": 1024,
    "tie_word_embeddings": True,
}


def written(tmp_path: Path, config: Any, name: str = "config.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(
    ("config", "per_token", "beyond"),
    [
        (LLAMA, 131_072, 131_072),  # grouped heads
        (LLAMA | {"num_key_value_heads": None}, 524_288, 524_288),  # a head each
        (LLAMA | {"multi_query": True, "num_key_value_heads": None}, 16_384, 16_384),  # one for all
        (LLAMA | {"num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64}, 327_680, 327_680),
        (DEEPSEEK, 70_272, 70_272),
        (OSS, 73_728, 36_864),
        (GEMMA, 62 * 2 * 16 * 128 * 2, 10 * 2 * 16 * 128 * 2),  # every sixth of 62 is full
        ({"text_config": GEMMA, "model_type": "gemma3"}, 62 * 2 * 16 * 128 * 2, 10 * 2 * 16 * 128 * 2),
        (LLAMA | {"model_type": "mistral", "sliding_window": 4096}, 131_072, 0),
        (
            LLAMA | {"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False},
            131_072,
            131_072,
        ),
        (LLAMA | {"model_type": "qwen3_next", "full_attention_interval": 4}, 32_768, 32_768),
        (LLAMA | {"model_type": "jamba", "attn_layer_period": 8, "attn_layer_offset": 4}, 16_384, 16_384),
        (LLAMA | {"attn_type_list": [0] * 28 + [1] * 4}, 16_384, 16_384),
        (LLAMA | {"num_kv_shared_layers": 16}, 65_536, 65_536),
        (LLAMA | {"attention_chunk_size": 8192}, 131_072, 32_768),
    ],
)
def test_bytes_a_token(tmp_path: Path, config: Any, per_token: int, beyond: int) -> None:
    found = model_of(written(tmp_path, config))
    assert token_bytes(found) == found.kv_bytes_per_token() == per_token
    assert token_bytes(found, beyond_window=True) == beyond


def test_a_quarter_of_64_layers_keeps_kv(tmp_path: Path) -> None:
    """A9: 16 layers, 4 KV heads of 256: 65,536 bytes a token, 4 MiB a block of 64."""
    config = LLAMA | {"num_hidden_layers": 64, "num_key_value_heads": 4, "head_dim": 256}
    found = model_of(written(tmp_path, config | {"full_attention_interval": 4}))
    assert token_bytes(found) == 65_536
    assert 64 * token_bytes(found) == 4 * 2**20
    assert KvGroup("linear", 48) in found.kv_groups


@pytest.mark.parametrize(
    ("config", "total", "active"),
    [(LLAMA, 8.03e9, 8.03e9), (DEEPSEEK, 671e9, 37.5e9), (OSS, 116.8e9, 5.7e9)],
)
def test_parameters(tmp_path: Path, config: Any, total: float, active: float) -> None:
    found = model_of(written(tmp_path, config))
    assert found.params_total == pytest.approx(total, rel=0.01)
    assert found.params_active == pytest.approx(active, rel=0.02)


def test_weights_as_stored(tmp_path: Path) -> None:
    assert model_of(written(tmp_path, OSS)).weight_bytes() == pytest.approx(60.8 * 2**30, rel=0.03)
    assert model_of(written(tmp_path, DEEPSEEK)).checkpoint_dtype == "fp8"
    awq = LLAMA | {"quantization_config": {"quant_method": "awq", "bits": 4}}
    assert model_of(written(tmp_path, awq)).weight_bytes() == pytest.approx(5.7e9, rel=0.03)
    packed = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 8}}},
    }
    assert model_of(written(tmp_path, LLAMA | {"quantization_config": packed})).checkpoint_dtype == "int8"
    written(tmp_path, {"quantization": {"quant_algo": "FP8"}}, "hf_quant_config.json")
    assert model_of(written(tmp_path, LLAMA)).checkpoint_dtype == "fp8"
    written(tmp_path, {"metadata": {"total_size": 8_123_456_789}}, "model.safetensors.index.json")
    assert model_of(tmp_path).weight_bytes() == 8_123_456_789


def test_a_sum_of_weights_that_cannot_be_is_refused(tmp_path: Path) -> None:
    written(tmp_path, LLAMA)
    written(tmp_path, {"metadata": {"total_size": 1}}, "model.safetensors.index.json")
    with pytest.raises(ConfigError, match="parameters take 1 bytes"):
        model_of(tmp_path)
    written(tmp_path, {"metadata": {"total_size": True}}, "model.safetensors.index.json")
    assert model_of(tmp_path).weight_bytes() > 15e9, "as without it"


def test_names_out_of_a_file_steer_no_terminal(tmp_path: Path) -> None:
    name = model_of(written(tmp_path, LLAMA | {"_name_or_path": "evil\u001b[31m\u0007\nname"})).name
    assert name == "evil[31mname"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "whatever"}, "num_hidden_layers, hidden_size, num_attention_heads, vocab_size"),
        ([1], "no object"),
        (LLAMA | {"layer_types": ["dream_attention"] * 32}, "dream_attention"),
        (LLAMA | {"model_type": []}, "model_type"),
        (LLAMA | {"model_type": "mamba2"}, "no attention"),
        (LLAMA | {"compress_ratios": [0, 4]}, "compress_ratios"),
        (LLAMA | {"v_head_dim": 64}, "64 for V"),
        (LLAMA | {"kv_lora_rank": 512}, "qk_rope_head_dim"),
        (LLAMA | {"layer_types": ["sliding_attention"] * 32}, "sliding_window"),
        (LLAMA | {"quantization_config": {"quant_method": "dream"}}, "dream"),
        (LLAMA | {"hybrid_override_pattern": "M*M-" * 8}, "index.json"),
    ],
)
def test_what_is_refused_says_why(tmp_path: Path, config: Any, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        model_of(written(tmp_path, config))
    assert words in f"{error.value.message} {error.value.hint}"


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        model_of(tmp_path / "none.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ConfigError, match="not JSON"):
        model_of(tmp_path / "x.json")


anything = st.none() | st.integers(-3, 300) | st.sampled_from(["x", [1], {"a": 1}, 1.5, True, [0, 1], "full"])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*LLAMA, *DEEPSEEK, *OSS, "attn_layer_period"]), anything, max_size=4))
def test_a_damaged_file_is_refused_or_read(tmp_path_factory: pytest.TempPathFactory, damage: Any) -> None:
    path = written(tmp_path_factory.mktemp("c"), OSS | damage)
    with contextlib.suppress(ConfigError):
        assert token_bytes(model_of(path)) >= 0


@pytest.mark.parametrize(
    ("name", "layer_bytes"),
    [
        ("bf16", 8 * 256 * 2),
        ("fp8", 8 * 256),
        ("fp8_e4m3", 8 * 256),
        ("int8_per_token_head", 8 * (256 + 8)),
        ("fp8_per_token_head", 8 * (256 + 8)),
        ("int4_per_token_head", 8 * (128 + 8)),
    ],
)
def test_element_types(name: str, layer_bytes: int) -> None:
    llama = model("llama-3.1-8b")
    assert token_bytes(llama, name) == 32 * layer_bytes
    assert element_bytes(llama, name) * 8 * 256 == layer_bytes
    assert token_bytes(llama, name, tp=16) == 32 * layer_bytes / 8, "one head each at least"


def test_latents() -> None:
    deepseek = model("deepseek-v3")
    assert token_bytes(deepseek, "fp8_ds_mla", tp=8) == 61 * 656
    assert token_bytes(deepseek, "nvfp4_ds_mla") == 61 * 352
    assert token_bytes(deepseek, tp=8) == 70_272, "whole on every GPU"
    with pytest.raises(ConfigError, match="latents"):
        token_bytes(model("llama-3.1-8b"), "fp8_ds_mla")
    with pytest.raises(ConfigError, match="no heads"):
        token_bytes(deepseek, "int8_per_token_head")
    with pytest.raises(ConfigError, match="unknown KV type"):
        kv_type("fp3")
    assert set(KV_TYPES) >= {"auto", "bf16", "fp8"}


@pytest.mark.parametrize("quantised", [{}, {"quantization_config": {"quant_method": "fp8"}}])
@pytest.mark.parametrize(
    ("whole", "part", "one_matrix"),
    [
        ({"tie_word_embeddings": True}, {}, True),
        ({"tie_word_embeddings": True}, {"tie_word_embeddings": False}, True),
        ({"tie_word_embeddings": None}, {"tie_word_embeddings": True}, True),
        ({}, {}, False),
        ({}, {"model_type": "gemma3_text"}, True),
        ({"model_type": "gemma3"}, {"model_type": None}, True),
        ({"tie_word_embeddings": False}, {"model_type": "gemma3_text"}, False),
        ({}, {"model_type": "mistral"}, False),
    ],
)
def test_a_matrix_that_is_both_embeddings_counts_once(
    tmp_path: Path, quantised: Any, whole: Any, part: Any, one_matrix: bool
) -> None:
    """What is counted, stored and read by the head agrees, wherever the file says it."""
    said = {"model_type": "llava", "text_config": LLAMA | part} | whole | quantised
    plain = (
        LLAMA | {"model_type": part.get("model_type") or "llama", "tie_word_embeddings": False} | quantised
    )
    found, apart = model_of(written(tmp_path, said)), model_of(written(tmp_path, plain, "plain.json"))
    matrix = LLAMA["vocab_size"] * LLAMA["hidden_size"]
    assert found.tied is one_matrix
    assert apart.params_total - found.params_total == (matrix if one_matrix else 0)
    assert apart.params_active - found.params_active == (matrix if one_matrix else 0)
    if quantised:
        assert apart.checkpoint_bytes is not None
        assert found.checkpoint_bytes is not None
        assert apart.checkpoint_bytes - found.checkpoint_bytes == (2 * matrix if one_matrix else 0)


@pytest.mark.parametrize(
    "kind", ["gemma", "gemma2", "opt", "gpt2", "falcon", "bloom", "cohere", "starcoder2"]
)
def test_a_class_that_ties_needs_no_word_of_the_file(tmp_path: Path, kind: str) -> None:
    assert model_of(written(tmp_path, LLAMA | {"model_type": kind})).tied


FIELDS = ("num_key_value_heads", "head_dim", "intermediate_size", "max_position_embeddings")


@pytest.mark.parametrize("field", [*FIELDS, "num_hidden_layers", "hidden_size"])
@pytest.mark.parametrize("value", [-1, "x", 0, [1], {}, True, 1.5, float("inf"), float("nan"), 10**30, 1e30])
def test_a_field_that_is_there_and_makes_no_sense_is_refused_by_name(
    tmp_path: Path, field: str, value: Any
) -> None:
    with pytest.raises(ConfigError, match=f"wrong kind: {field} is "):
        model_of(written(tmp_path, LLAMA | {field: value}))


@pytest.mark.parametrize(
    "heads", [{"num_attention_heads": 32}, {"sliding_window": 1024, "sliding_window_pattern": 6}]
)
def test_heads_of_no_size_are_refused(tmp_path: Path, heads: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"config.json .*num_attention_heads is 32, not .* hidden_size 16"):
        model_of(written(tmp_path, LLAMA | {"hidden_size": 16} | heads))


WRONG_LAYOUTS: list[tuple[dict[str, Any], str]] = [
    ({"layer_types": ["full_attention"] * 31}, "lists 31 layers of 32"),
    ({"layer_types": [["full_attention"]] * 32}, "layers of unknown kind"),
    ({"layer_types": "full_attention"}, "layer_types is full_attention, not a list"),
    ({"hybrid_override_pattern": ["M"]}, "hybrid_override_pattern is .* not text"),
    ({"attn_layer_indices": 7}, "attn_layer_indices is 7, not a list"),
    ({"attn_layer_indices": [1.5]}, "attn_layer_indices lists 1.5, not the number of a layer"),
    ({"linear_attn_config": [1]}, "linear_attn_config is .* not an object"),
    ({"full_attention_interval": "4"}, "full_attention_interval is 4, not a whole number"),
    ({"attn_layer_period": 8, "attn_layer_offset": -1}, "attn_layer_offset is -1, not a whole number from 0"),
    ({"sliding_window": -1}, "sliding_window is -1, not a whole number from 0"),
    ({"sliding_window": 8, "use_sliding_window": "no"}, "use_sliding_window is no, not true or false"),
    ({"num_kv_shared_layers": 32}, "num_kv_shared_layers is 32, not a whole number from 0 to 31"),
    ({"kv_lora_rank": 512, "qk_rope_head_dim": -64}, "qk_rope_head_dim is -64, not a whole number"),
    ({"global_head_dim": 1.5}, "global_head_dim is 1.5, not a whole number"),
    ({"num_local_experts": 8, "n_shared_experts": -1}, "n_shared_experts is -1, not a whole number"),
    (
        {"num_experts": 8, "num_experts_per_tok": 9},
        "num_experts_per_tok is 9, not a whole number from 0 to 8",
    ),
    ({"quantization_config": "fp8"}, "quantization_config is fp8, not an object"),
    ({"tie_word_embeddings": "false"}, "tie_word_embeddings is false, not true or false"),
]


@pytest.mark.parametrize(("fields", "words"), WRONG_LAYOUTS)
def test_a_layout_that_makes_no_sense_is_refused_by_name(
    tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=f"config.json .*{words}"):
        model_of(written(tmp_path, LLAMA | fields))


def test_a_window_that_is_not_used_is_none(tmp_path: Path) -> None:
    for used in (False, None):
        found = model_of(written(tmp_path, LLAMA | {"sliding_window": 8, "use_sliding_window": used}))
        assert found.kv_groups == model_of(written(tmp_path, LLAMA)).kv_groups


def test_layers_are_counted_as_often_as_the_model_has_them(tmp_path: Path) -> None:
    """A list of a few is repeated; what a list has beyond the layers are those that only draft."""
    few = {"num_hidden_layers": 5, "block_types": ["recurrent", "recurrent", "attention"]}
    more = {"num_hidden_layers": 2, "layer_types": ["full_attention"] * 3}
    repeated, cut = (model_of(written(tmp_path, LLAMA | fields)).kv_groups for fields in (few, more))
    assert [(group.kind, group.layers) for group in repeated] == [("full", 1), ("linear", 4)]
    assert [(group.kind, group.layers) for group in cut] == [("full", 2)]


@pytest.mark.parametrize("value", ["x", 0, [], True])
def test_a_type_of_weights_that_nobody_knows_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigError, match="torch_dtype is "):
        model_of(written(tmp_path, LLAMA | {"torch_dtype": value}))


def test_null_and_no_experts_are_as_if_absent(tmp_path: Path) -> None:
    absent = {name: value for name, value in LLAMA.items() if name not in ("torch_dtype", *FIELDS)}
    nothing = dict.fromkeys((*FIELDS, "torch_dtype"), None) | {"num_experts": 0}
    assert model_of(written(tmp_path, absent | nothing)) == model_of(written(tmp_path, absent))


def test_sizes_listed_layer_by_layer_count_where_they_are_the_same(tmp_path: Path) -> None:
    listed = LLAMA | {"intermediate_size": [14336] * 32}
    assert model_of(written(tmp_path, listed)) == model_of(written(tmp_path, LLAMA))
    with pytest.raises(ConfigError, match="intermediate_size is "):
        model_of(written(tmp_path, listed | {"intermediate_size": [14336] * 31 + [1]}))


def test_a_billion_layers_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="num_hidden_layers is 1000000000, not a whole number from 1 to 100"
    ):
        model_of(written(tmp_path, LLAMA | {"num_hidden_layers": 10**9}))


def test_json_nested_too_deep_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(ConfigError, match="is not JSON that can be read"):
        model_of(file)


def test_own_weights_are_not_called_the_catalogues(tmp_path: Path) -> None:
    def words(spec: ModelSpec) -> list[str]:
        return [term.how for term in pool(spec, gpu("h100-sxm")).terms if term.name == "weights"]

    assert words(model_of(written(tmp_path, LLAMA))) == ["parameters of its own config.json"]
    assert words(model("llama-3.1-8b")) == ["parameters of the catalogue"]
