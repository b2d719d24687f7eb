"""The state that a layer of linear attention keeps, from the fields of a `config.json`.

Shapes and types as vLLM 0.32 has them (model_executor/layers/mamba/mamba_utils.py and the models' own
`get_mamba_state_shape_from_config`): the last inputs of a short convolution, in the model's type, and the
recurrent state.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from kvtui.hardware.catalogue import State
from kvtui.hardware.hffields import required, word

Config = dict[str, Any]

DELTA_NETS = ("qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text")
MAMBA1 = ("jamba",)
MAMBA2 = {  # heads, head size, state size, groups, convolution
    "granitemoehybrid": ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv"),
    "nemotron_h": ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel"),
}
FULL_PRECISION = (
    "nemotron_h",
)  # where vLLM keeps the recurrent state in fp32 unless the file says otherwise
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def state_of(text: Config) -> State | None:
    """The state of one layer; None where the architecture is not known or one of its fields is absent.

    Raises ValueError for a field that is there and makes no sense.
    """
    kind = str(text.get("model_type", ""))
    try:
        if kind in DELTA_NETS:
            return _delta_net(text)
        if kind in MAMBA1:
            return _mamba1(text)
        return _mamba2(text, kind) if kind in MAMBA2 else None
    except KeyError:
        return None


def _delta_net(text: Config) -> State:
    keys, values = required(text, "linear_num_key_heads"), required(text, "linear_num_value_heads")
    key, value = required(text, "linear_key_head_dim"), required(text, "linear_value_head_dim")
    return State(
        channels=2 * key * keys + value * values,
        past=required(text, "linear_conv_kernel_dim") - 1,
        numbers=values * value * key,
        element=BYTES[word(text, "mamba_ssm_dtype", BYTES, default="bfloat16")],
        parts=gcd(keys, values),
    )


def _mamba1(text: Config) -> State:
    inner = required(text, "mamba_expand") * required(text, "hidden_size")
    past, width = required(text, "mamba_d_conv") - 1, required(text, "mamba_d_state")
    return State(channels=inner, past=past, numbers=inner * width, element=2, parts=inner)


def _mamba2(text: Config, kind: str) -> State:
    heads, size, width, groups, kernel = (required(text, field) for field in MAMBA2[kind])
    element = 2
    if kind in FULL_PRECISION:
        element = BYTES[word(text, "mamba_ssm_cache_dtype", BYTES, default="float32")]
    return State(
        channels=heads * size + 2 * groups * width,
        past=kernel - 1,
        numbers=heads * size * width,
        element=element,
        parts=gcd(heads, groups),
        within=True,
    )
