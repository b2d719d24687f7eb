"""Which layers keep K and V, and how far they look back, from the fields of a `config.json`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup
from kvtui.hardware.hfstates import state_of

if TYPE_CHECKING:
    from kvtui.hardware.hfconfig import Shape

Config = dict[str, Any]

# One word a layer: what published files call their layers.
LAYER_WORDS = {
    "full_attention": "full",
    "deepseek_sparse_attention": "full",
    "attention": "full",
    "full": "full",
    "global": "full",
    "hybrid": "full",  # attention and a state beside it
    "*": "full",
    "sliding_attention": "sliding",
    "sliding": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "mamba": "linear",
    "mamba2": "linear",
    "recurrent": "linear",
    "conv": "linear",
    "M": "linear",
    "mlp": "none",
    "moe": "none",
    "-": "none",
    "E": "none",
}
ALTERNATING = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4}  # every n-th layer is full
# Fields of layouts that are not understood: memory would be told wrong.
NOT_UNDERSTOOD = {
    "block_configs": "layers that differ one by one",
    "compress_ratios": "attention over compressed tokens",
    "hybrid_layer_pattern": "heads that differ by layer",
}
ONLY_STATES = ("mamba", "mamba2", "rwkv", "rwkv6", "falcon_mamba", "xlstm")


def kv_groups(text: Config, shape: Shape, file: str) -> tuple[KvGroup, ...]:
    """Layers by kind of attention. Raises ConfigError for a layer or a layout of unknown kind."""
    _refuse_unknown(text, shape, file)
    kinds = _kinds(text, shape.layers, file)
    shared = text.get("num_kv_shared_layers") or 0
    if shared:
        kinds = kinds[: shape.layers - int(shared)]  # the last layers read the KV of earlier ones
    if text.get("kv_lora_rank"):
        return (_latent(text, kinds.count("full") or len(kinds), file),)
    counts = Counter(kinds)
    groups = [
        _group(kind, counts[kind], text, shape, file) for kind in ("full", "sliding", "chunked", "linear")
    ]
    return tuple(group for group in groups if group.layers)


def _refuse_unknown(text: Config, shape: Shape, file: str) -> None:
    kind = str(text.get("model_type", ""))
    if kind in ONLY_STATES:
        raise ConfigError(f"{file}: {kind} has no attention and so no KV memory to show")
    for field, what in NOT_UNDERSTOOD.items():
        if text.get(field):
            raise ConfigError(f"{file} ({kind}) has {field}: {what}, which kvtui does not know")
    values = text.get("v_head_dim")
    if values and not text.get("kv_lora_rank") and values != shape.head_dim:
        raise ConfigError(f"{file} ({kind}) has heads of {shape.head_dim} for K and {values} for V")


def _latent(text: Config, layers: int, file: str) -> KvGroup:
    rank, rope = text.get("kv_lora_rank"), text.get("qk_rope_head_dim")
    if not isinstance(rank, int) or not isinstance(rope, int):
        raise ConfigError(f"{file} has kv_lora_rank and lacks qk_rope_head_dim")
    return KvGroup("mla", layers, kv_lora_rank=rank, qk_rope_head_dim=rope)


def _group(kind: str, layers: int, text: Config, shape: Shape, file: str) -> KvGroup:
    heads, head_dim = shape.kv_heads, shape.head_dim
    if kind == "full" and text.get("global_head_dim"):
        head_dim = int(text["global_head_dim"])
        heads = int(text.get("num_global_key_value_heads") or heads)
    if kind == "linear":
        return KvGroup("linear", layers, state=state_of(text))
    if kind == "full":
        return KvGroup("full", layers, kv_heads=heads, head_dim=head_dim)
    field = "attention_chunk_size" if kind == "chunked" else "sliding_window"
    window = text.get(field) or text.get("sliding_window_size")
    if layers and not isinstance(window, int):
        raise ConfigError(f"{file} has {kind} layers and lacks {field}")
    return KvGroup(kind, layers, kv_heads=heads, head_dim=head_dim, window=window if layers else None)


def _kinds(text: Config, layers: int, file: str) -> list[str]:
    """One kind a layer."""
    listed = _listed(text)
    if listed is not None:
        unknown = sorted({str(word) for word in listed if word not in LAYER_WORDS})
        if unknown:
            raise ConfigError(f"{file} has layers of unknown kind: {', '.join(unknown)}")
        return [LAYER_WORDS[word] for word in listed]
    return _patterned(text, str(text.get("model_type", "")), layers)


def _listed(text: Config) -> list[Any] | None:
    """The layers one by one, where the file lists them."""
    for key in ("layer_types", "layers_block_type", "block_types"):
        if isinstance(text.get(key), list):
            return list(text[key])
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return list(pattern)
    mixed = text.get("linear_attn_config")
    if isinstance(mixed, dict) and isinstance(mixed.get("full_attn_layers"), list):  # counted from 1
        full, layers = set(mixed["full_attn_layers"]), int(text.get("num_hidden_layers", 0))
        return ["full" if i + 1 in full else "linear_attention" for i in range(layers)]
    if isinstance(text.get("attn_type_list"), list):  # 1 = softmax attention
        return ["full" if one else "linear_attention" for one in text["attn_type_list"]]
    return None


def _patterned(text: Config, kind: str, layers: int) -> list[str]:
    """The layers by a rule of the architecture."""
    every = text.get("full_attention_interval")
    if every:
        return ["full" if (i + 1) % int(every) == 0 else "linear" for i in range(layers)]
    if text.get("attn_layer_period"):
        period, offset = int(text["attn_layer_period"]), int(text.get("attn_layer_offset") or 0)
        return ["full" if i % period == offset else "linear" for i in range(layers)]
    if text.get("attn_layer_indices"):
        attended = set(text["attn_layer_indices"])
        return ["full" if i in attended else "linear" for i in range(layers)]
    if text.get("attention_chunk_size") and text.get("no_rope_layers") != []:
        every = int(text.get("no_rope_layer_interval") or 4)
        return ["full" if (i + 1) % every == 0 else "chunked" for i in range(layers)]
    window, used = text.get("sliding_window"), text.get("use_sliding_window", True)
    if not window or not used:
        return ["full"] * layers
    every = int(text.get("sliding_window_pattern") or ALTERNATING.get(kind, 0))
    if every:
        return ["full" if (i + 1) % every == 0 else "sliding" for i in range(layers)]
    if text.get("max_window_layers") is not None and "use_sliding_window" in text:
        full = int(text["max_window_layers"])
        return ["full" if i < full else "sliding" for i in range(layers)]
    return ["sliding"] * layers
