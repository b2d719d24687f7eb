"""A model's shape from its Hugging Face `config.json`, read as vLLM reads it.

Only files on disk are read. Where a `model.safetensors.index.json` lies beside it the weights' bytes are the
file's own; otherwise they are counted from the shape.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import Experts, ModelSpec
from kvtui.hardware.hfcount import check_countable, parameters
from kvtui.hardware.hffamilies import assumed_of
from kvtui.hardware.hffields import MOST, count, first, typed
from kvtui.hardware.hflayers import kinds_of, kv_groups
from kvtui.hardware.hfweights import INDEX, QUANTISATION, embeddings, indexed, stay_wide, stored, tied

Config = dict[str, Any]

NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "vocab": ("vocab_size",),
}
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
INTERMEDIATE = ("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "moe_intermediate_size")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length")
EXPERTS = ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts")
TOP_K = (
    *("num_experts_per_tok", "experts_per_token", "moe_top_k", "moe_topk", "num_experts_per_token"),
    "top_k_experts",
)
WIDE = "weights that stay in 16 bits"
ENCODERS = {"vision_config": "the vision encoder", "audio_config": "the audio encoder"}
UNBOUNDED = 1 << 20  # positions where the file sets no limit
MOST_LAYERS = 100_000  # each is an entry of a list


@dataclass(frozen=True, slots=True)
class Shape:
    """What every part of the reader needs."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int


def model_of(path: str | Path) -> ModelSpec:
    """The model that a `config.json`, or the folder it is in, describes.

    Raises ConfigError that names the file and the fields it lacks, or what of it is not understood.
    """
    file = files_of(path)[0]
    config = _read(file)
    try:
        return _model(file, str(path), config)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ConfigError(f"{file} has a field of the wrong kind: {error}") from None


def files_of(path: str | Path) -> tuple[Path, ...]:
    """All that `model_of` reads, whether it is there or not; the `config.json` first."""
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    return file, file.with_name(QUANTISATION), file.with_name(INDEX)


def _model(file: Path, id: str, config: Config) -> ModelSpec:
    text = _language(config)
    shape = _shape(text, file)
    groups = kv_groups(text, shape, str(file))
    experts, kinds = _experts(text), kinds_of(text, shape.layers, str(file))
    weighed = indexed(file) is not None
    if not weighed:
        check_countable(text, kinds, str(file), INDEX)
    found = parameters(text, shape, experts, kinds, embeddings(config, text, shape))
    dtype, size = stored(config, text, shape, found.total, file)
    wide = (WIDE,) if stay_wide(config, text, file) else ()
    name = str(config.get("_name_or_path") or file.resolve().parent.name or file.stem)
    name = "".join(filter(str.isprintable, name))  # it goes to terminals and pages
    return ModelSpec(
        id=id,
        name=name,
        short=name.split("/")[-1][:24] or "model",
        layers=shape.layers,
        hidden=shape.hidden,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate=shape.intermediate,
        vocab=shape.vocab,
        max_positions=first(text, POSITIONS) or UNBOUNDED,
        params_total=found.total,
        params_active=found.active,
        checkpoint_dtype=dtype,
        kv_groups=groups,
        released="",
        source=str(file),
        verified="config",
        moe=experts,
        checkpoint_bytes=size,
        tied=tied(config, text),
        left_out=_left_out(config, text, (*found.unknown, *wide), weighed=weighed),
        assumed=assumed_of(text),
    )


def _left_out(config: Config, text: Config, unknown: tuple[str, ...], *, weighed: bool) -> tuple[str, ...]:
    """What takes memory and is not counted: weights that are not known, and what sees or hears, of which the
    weights are in the file's own sum where they are `weighed`."""
    others = [name for field, name in ENCODERS.items() if text is not config and config.get(field)]
    if weighed:
        return tuple(f"buffers of {name}" for name in others)
    return (*unknown, *others)


def _read(file: Path) -> Config:
    try:
        config = json.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not JSON that can be read: {error}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{file} holds no object", hint="the config.json of a model is wanted")
    return config


def _language(config: Config) -> Config:
    """The part that describes the language model, where others see or hear."""
    for key in ("text_config", "llm_config", "language_config", "thinker_config"):
        part = typed(config, key, dict)
        if part is not None:
            return _language(part)
    return config


def _shape(text: Config, file: Path) -> Shape:
    most = {"layers": MOST_LAYERS}
    found = {name: first(text, names, most=most.get(name, MOST)) for name, names in NAMES.items()}
    if found["layers"] is None:
        found["layers"] = len(typed(text, "layers_block_type", list) or ()) or None
    missing = [NAMES[name][0] for name, value in found.items() if value is None]
    if missing:
        kind = text.get("model_type") or "a model of unknown type"
        raise ConfigError(
            f"{file} ({kind}) lacks {', '.join(missing)}",
            hint="without these nobody can say how much KV memory a token takes",
        )
    layers, hidden, heads, vocab = (found[name] or 0 for name in ("layers", "hidden", "heads", "vocab"))
    kv_heads = first(text, KV_HEADS) or heads
    if typed(text, "multi_query", bool) and not text.get("new_decoder_architecture"):
        kv_heads = first(text, ("multi_query_group_num",)) or 1
    head_dim = first(text, ("head_dim", "kv_channels", "attention_head_dim")) or _divided(hidden, heads)
    intermediate = first(_same_in_all(text, layers), INTERMEDIATE) or 4 * hidden
    return Shape(layers, hidden, heads, kv_heads, head_dim, intermediate, vocab)


def _divided(hidden: int, heads: int) -> int:
    """The head size where the file leaves it to the other two."""
    if hidden < heads:
        raise ValueError(
            f"num_attention_heads is {heads:,}, not a whole number from 1 to hidden_size {hidden:,}"
        )
    return hidden // heads


def _same_in_all(text: Config, layers: int) -> Config:
    """With one intermediate_size where the file lists the same one layer by layer (Gemma 3n)."""
    listed = text.get("intermediate_size")
    if isinstance(listed, list) and len(listed) == layers > 1 and listed.count(listed[0]) == layers:
        return text | {"intermediate_size": listed[0]}
    return text


def _experts(text: Config) -> Experts | None:
    experts = count(text, *EXPERTS)
    if experts < 2:
        return None
    top = count(text, *TOP_K, most=experts) or 1
    return Experts(experts, top, first(text, ("moe_intermediate_size", "intermediate_size")))
