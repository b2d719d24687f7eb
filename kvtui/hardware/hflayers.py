"""Which layers keep K and V, and how far they look back, from the fields of a `config.json`."""

from __future__ import annotations

from collections import Counter
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup
from kvtui.hardware.hffields import count, indices, typed
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
    "mlp": "mlp",
    "moe": "moe",
    "-": "mlp",
    "E": "moe",
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
    kinds = kinds_of(text, shape.layers, file)
    shared = count(text, "num_kv_shared_layers", most=shape.layers - 1)
    if shared:
        kinds = kinds[: shape.layers - shared]  # the last layers read the KV of earlier ones
    if count(text, "kv_lora_rank"):
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
    values = count(text, "v_head_dim")
    if values and not count(text, "kv_lora_rank") and values != shape.head_dim:
        raise ConfigError(f"{file} ({kind}) has heads of {shape.head_dim} for K and {values} for V")


def _latent(text: Config, layers: int, file: str) -> KvGroup:
    rank, rope = count(text, "kv_lora_rank"), count(text, "qk_rope_head_dim")
    if text.get("qk_rope_head_dim") is None:
        raise ConfigError(f"{file} has kv_lora_rank and lacks qk_rope_head_dim")
    return KvGroup("mla", layers, kv_lora_rank=rank, qk_rope_head_dim=rope)


def _group(kind: str, layers: int, text: Config, shape: Shape, file: str) -> KvGroup:
    heads, head_dim = shape.kv_heads, shape.head_dim
    if kind == "full" and count(text, "global_head_dim"):
        head_dim = count(text, "global_head_dim")
        heads = count(text, "num_global_key_value_heads") or heads
    if kind == "linear":
        return KvGroup("linear", layers, state=state_of(text))
    if kind == "full":
        return KvGroup("full", layers, kv_heads=heads, head_dim=head_dim)
    field = "attention_chunk_size" if kind == "chunked" else "sliding_window"
    window = count(text, field, "sliding_window_size")
    if layers and not window:
        raise ConfigError(f"{file} has {kind} layers and lacks {field}")
    return KvGroup(kind, layers, kv_heads=heads, head_dim=head_dim, window=window if layers else None)


def kinds_of(text: Config, layers: int, file: str) -> list[str]:
    """One kind a layer: of attention, "linear", "mlp" or "moe". Raises ConfigError for an unknown one."""
    words = _words(text, layers)
    if words is None:
        return _patterned(text, str(text.get("model_type", "")), layers)
    unknown = sorted(
        {str(word)[:40] for word in words if not isinstance(word, str) or word not in LAYER_WORDS}
    )
    if unknown:
        raise ConfigError(f"{file} has layers of unknown kind: {', '.join(unknown)}")
    if len(words) < layers:
        raise ConfigError(f"{file} lists {len(words)} layers of {layers}")
    return [LAYER_WORDS[word] for word in words[:layers]]  # what follows are layers that only draft


def _words(text: Config, layers: int) -> list[Any] | None:
    """A word for each layer, where the file lists them."""
    for key in ("layer_types", "layers_block_type"):
        words = typed(text, key, list)
        if words is not None:
            return words
    repeated = typed(text, "block_types", list)
    if repeated is not None:
        return list(islice(cycle(repeated), layers))
    pattern = typed(text, "hybrid_override_pattern", str)
    if pattern is not None:
        return list(pattern)
    full = indices(typed(text, "linear_attn_config", dict) or {}, "full_attn_layers")
    if full is not None:  # counted from 1
        return ["full" if i + 1 in full else "linear_attention" for i in range(layers)]
    softmax = typed(text, "attn_type_list", list)
    return None if softmax is None else ["full" if one else "linear_attention" for one in softmax]


def _patterned(text: Config, kind: str, layers: int) -> list[str]:
    """The layers by a rule of the architecture."""
    every = count(text, "full_attention_interval")
    if every:
        return ["full" if (i + 1) % every == 0 else "linear" for i in range(layers)]
    period, offset = count(text, "attn_layer_period"), count(text, "attn_layer_offset")
    if period:
        return ["full" if i % period == offset else "linear" for i in range(layers)]
    attended = indices(text, "attn_layer_indices")
    if attended:
        return ["full" if i in attended else "linear" for i in range(layers)]
    if count(text, "attention_chunk_size") and text.get("no_rope_layers") != []:
        every = count(text, "no_rope_layer_interval") or 4
        return ["full" if (i + 1) % every == 0 else "chunked" for i in range(layers)]
    return _windowed(text, kind, layers)


def _windowed(text: Config, kind: str, layers: int) -> list[str]:
    """The layers of an architecture that may look back through a window."""
    unused = "use_sliding_window" in text and not typed(text, "use_sliding_window", bool)
    if unused or not count(text, "sliding_window"):
        return ["full"] * layers
    every = count(text, "sliding_window_pattern") or ALTERNATING.get(kind, 0)
    if every:
        return ["full" if (i + 1) % every == 0 else "sliding" for i in range(layers)]
    if text.get("max_window_layers") is not None and "use_sliding_window" in text:
        full = count(text, "max_window_layers")
        return ["full" if i < full else "sliding" for i in range(layers)]
    return ["sliding"] * layers
