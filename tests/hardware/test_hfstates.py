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
