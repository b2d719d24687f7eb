"""Parameters of one layer's mixer, attention or what stands in its place, by the fields of a `config.json`.

Shapes as the models' own classes have them in vLLM 0.32 (model_executor/models and layers/mamba); biases and
norms are left out, they come to less than a thousandth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvtui.hardware.hffields import count, required
from kvtui.hardware.hfstates import DELTA_NETS, MAMBA1, MAMBA2

if TYPE_CHECKING:
    from kvtui.hardware.hfconfig import Shape

Config = dict[str, Any]

ATTENTION = ("full", "sliding", "chunked")


def mixer_parameters(kind: str, text: Config, shape: Shape) -> int | None:
    """Of a layer of this kind; 0 for one that is an MLP alone, None where they are not known."""
    if kind in ATTENTION:
        return _latent(text, shape) if count(text, "kv_lora_rank") else _heads(kind, text, shape)
    return _linear(text, shape.hidden) if kind == "linear" else 0


def _heads(kind: str, text: Config, shape: Shape) -> int:
    size, kv, each = shape.head_dim, shape.kv_heads, 2
    if kind == "full" and count(text, "global_head_dim"):
        size = count(text, "global_head_dim")
        kv = count(text, "num_global_key_value_heads") or kv
        each = 1 if text.get("attention_k_eq_v") else 2
    queries = 3 if text.get("attn_output_gate") or text.get("model_type") == "qwen3_next" else 2
    return shape.hidden * size * (queries * shape.heads + each * kv)


def _latent(text: Config, shape: Shape) -> int:
    rank, rope = count(text, "kv_lora_rank"), count(text, "qk_rope_head_dim")
    nope, value = count(text, "qk_nope_head_dim") or 128, count(text, "v_head_dim") or 128
    query, inner = shape.heads * (nope + rope), count(text, "q_lora_rank")
    queries = inner * (shape.hidden + query) if inner else shape.hidden * query
    output = shape.heads * value * shape.hidden
    return queries + shape.hidden * (rank + rope) + rank * shape.heads * (nope + value) + output


def _linear(text: Config, hidden: int) -> int | None:
    kind = str(text.get("model_type", ""))
    try:
        if kind in DELTA_NETS:
            return _delta_net(text, hidden)
        if kind in MAMBA1:
            return _mamba1(text, hidden)
        return _mamba2(text, hidden, kind) if kind in MAMBA2 else None
    except KeyError:
        return None


def _delta_net(text: Config, hidden: int) -> int:
    heads = required(text, "linear_num_value_heads")
    keys = required(text, "linear_num_key_heads") * required(text, "linear_key_head_dim")
    values = heads * required(text, "linear_value_head_dim")
    convolution = (2 * keys + values) * required(text, "linear_conv_kernel_dim")
    return hidden * (2 * keys + 2 * values + 2 * heads) + convolution + values * hidden


def _mamba1(text: Config, hidden: int) -> int:
    inner, width = required(text, "mamba_expand") * hidden, required(text, "mamba_d_state")
    rank = count(text, "mamba_dt_rank") if text.get("mamba_dt_rank") != "auto" else 0
    rank = rank or -(-hidden // 16)
    steps = inner * (rank + 2 * width) + rank * inner
    return (
        hidden * 2 * inner + inner * required(text, "mamba_d_conv") + steps + inner * width + inner * hidden
    )


def _mamba2(text: Config, hidden: int, kind: str) -> int:
    heads, size, width, groups, kernel = (required(text, field) for field in MAMBA2[kind])
    inner, states = heads * size, 2 * groups * width
    return hidden * (2 * inner + states + heads) + (inner + states) * kernel + inner * hidden
