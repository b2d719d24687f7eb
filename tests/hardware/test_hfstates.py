"""Sizes of the states of Mamba layers and their like, by the fields of a `config.json`."""

from __future__ import annotations

from typing import Any

import pytest

from kvtui.hardware.hfstates import state_of

DELTA: dict[str, Any] = {
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}
MAMBA2: dict[str, Any] = {"mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_d_conv": 4}
NEMOTRON: dict[str, Any] = {
    "mamba_num_heads": 128,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
}
JAMBA: dict[str, Any] = {"hidden_size": 4096, "mamba_expand": 2, "mamba_d_state": 16, "mamba_d_conv": 4}
# Bytes of one layer on one of so many GPUs with so many drafts, as MambaSpec of vLLM 0.32 answers for the
# shapes of MambaStateShapeCalculator, convolutions in bf16.
REAL = [
    ("qwen3_next", DELTA, 1, 0, 1_097_728),
    ("qwen3_next", DELTA, 1, 2, 1_130_496),
    ("qwen3_next", DELTA, 2, 0, 548_864),
    ("qwen3_next", DELTA, 2, 2, 565_248),
    ("qwen3_5_moe_text", DELTA | {"mamba_ssm_dtype": "float32"}, 1, 0, 2_146_304),
    ("qwen3_5_moe_text", DELTA | {"mamba_ssm_dtype": "float32"}, 2, 2, 1_089_536),
    ("granitemoehybrid", MAMBA2 | {"mamba_n_groups": 1}, 1, 0, 2_147_840),
    ("granitemoehybrid", MAMBA2 | {"mamba_n_groups": 1}, 1, 2, 2_181_632),
    ("nemotron_h", NEMOTRON, 1, 0, 4_255_744),
    ("nemotron_h", NEMOTRON, 2, 0, 2_127_872),
    ("nemotron_h", NEMOTRON, 2, 2, 2_148_352),
    ("jamba", JAMBA, 1, 0, 311_296),
    ("jamba", JAMBA, 2, 0, 155_648),
]


@pytest.mark.parametrize(("kind", "fields", "tp", "drafts", "size"), REAL)
def test_sizes(kind: str, fields: dict[str, Any], tp: int, drafts: int, size: int) -> None:
    state = state_of({"model_type": kind, **fields})
    assert state is not None
    assert state.parts % tp == 0
    assert state.bytes(tp, drafts=drafts) == size
    assert state.within == (kind in ("granitemoehybrid", "nemotron_h"))


def test_what_is_not_known_is_not_guessed() -> None:
    assert state_of({"model_type": "lfm2", "conv_L_cache": 3}) is None
    lacking = {field: value for field, value in DELTA.items() if field != "linear_conv_kernel_dim"}
    assert state_of({"model_type": "qwen3_next", **lacking}) is None


WHOLE = [("qwen3_next", DELTA, field) for field in DELTA]
WHOLE += [
    ("granitemoehybrid", MAMBA2 | {"mamba_n_groups": 1}, field) for field in (*MAMBA2, "mamba_n_groups")
]
WHOLE += [("nemotron_h", NEMOTRON, field) for field in NEMOTRON]
WHOLE += [("jamba", JAMBA, field) for field in JAMBA]


@pytest.mark.parametrize(("kind", "fields", "field"), WHOLE)
@pytest.mark.parametrize("value", [-5, 0, 1.5, "16", [1], True, float("inf"), float("nan"), 1e308])
def test_a_field_that_makes_no_sense_is_refused_by_name(
    kind: str, fields: dict[str, Any], field: str, value: Any
) -> None:
    with pytest.raises(ValueError, match=f"^{field} is .*, not a whole number from 1 to"):
        state_of({"model_type": kind, **fields, field: value})


@pytest.mark.parametrize("value", ["float64", "", 4, ["float32"]])
def test_a_type_of_state_that_nobody_knows_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^mamba_ssm_dtype is .*, not one of float32, bfloat16, float16"):
        state_of({"model_type": "qwen3_next", **DELTA, "mamba_ssm_dtype": value})
    with pytest.raises(ValueError, match=r"^mamba_ssm_cache_dtype is "):
        state_of({"model_type": "nemotron_h", **NEMOTRON, "mamba_ssm_cache_dtype": value})


def test_null_counts_as_absent() -> None:
    unsaid = {"model_type": "qwen3_next", **DELTA}
    assert state_of(unsaid | {"mamba_ssm_dtype": None}) == state_of(unsaid)
    assert state_of(unsaid | {"linear_num_key_heads": None}) is None
