"""How many parameters a `config.json` describes, and how many bytes they take as stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import WEIGHT_BITS, Experts
from kvtui.hardware.hffields import count, typed

if TYPE_CHECKING:
    from kvtui.hardware.hfconfig import Shape

Config = dict[str, Any]

QUANTISATION = "hf_quant_config.json"  # both lie beside the config.json
INDEX = "model.safetensors.index.json"
TORCH = {
    **{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"},
    "float8_e4m3fn": "fp8",
}
# Bits of a weight with its share of the scales; embeddings stay in 16 bits.
QUANTISED = {"int4": 4.25, "fp4": 4.5, "mxfp4": 4.25, "fp8": 8.0, "int8": 8.0}
UNGATED = (
    "opt",
    "gpt2",
    "gpt_neox",
    "gpt_bigcode",
    "falcon",
    "phi",
    "bloom",
    "mpt",
    "starcoder2",
    "nemotron",
)
# Language models whose class in transformers 5.19 ties the embeddings where a file says nothing.
TIED = (
    *("bloom", "cohere", "cohere2", "ctrl", "ernie4_5", "ernie4_5_moe", "falcon", "falcon_mamba"),
    *("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text"),
    *("gpt2", "gpt_bigcode", "gpt_neo", "jetmoe", "lfm2", "lfm2_moe", "mamba", "minicpm3", "mpt"),
    *("openai-gpt", "opt", "recurrent_gemma", "smollm3", "starcoder2", "vaultgemma", "xglm"),
    *("zamba", "zamba2"),
)


def tied(config: Config, text: Config) -> bool:
    """Whether the output embedding is the input embedding: the file's word, the text part's, the class's."""
    for part in (config, text):
        said = typed(part, "tie_word_embeddings", bool)
        if said is not None:
            return said
    return str(text.get("model_type") or config.get("model_type")) in TIED


def embeddings(config: Config, text: Config, shape: Shape) -> int:
    """Parameters of the input and output embeddings."""
    return shape.vocab * shape.hidden * (1 if tied(config, text) else 2)


def parameters(config: Config, text: Config, shape: Shape, experts: Experts | None) -> tuple[int, int]:
    """All parameters, and those that one token is multiplied by."""
    embedding = embeddings(config, text, shape)
    attention = shape.layers * _attention(text, shape)
    matrices = 2 if str(text.get("model_type")) in UNGATED else 3
    if experts is None:
        total = embedding + attention + shape.layers * matrices * shape.hidden * shape.intermediate
        return total, total
    dense_layers = count(text, "first_k_dense_replace")
    step = count(text, "decoder_sparse_step", "interleave_moe_layer_step") or 1
    moe_layers = len([i for i in range(dense_layers, shape.layers) if (i + 1) % step == 0])
    one = 3 * shape.hidden * (experts.intermediate or shape.intermediate)
    shared = count(text, "n_shared_experts", "num_shared_experts") * one
    shared += 3 * shape.hidden * count(text, "shared_expert_intermediate_size")
    dense = (shape.layers - moe_layers) * 3 * shape.hidden * shape.intermediate + moe_layers * shared
    total = embedding + attention + dense + moe_layers * experts.experts * one
    return total, total - moe_layers * (experts.experts - experts.top_k) * one


def _attention(text: Config, shape: Shape) -> int:
    """Projections of one layer."""
    if not count(text, "kv_lora_rank"):
        return 2 * shape.hidden * (shape.heads + shape.kv_heads) * shape.head_dim
    rank, rope = count(text, "kv_lora_rank"), count(text, "qk_rope_head_dim")
    nope, value = count(text, "qk_nope_head_dim") or 128, count(text, "v_head_dim") or 128
    query = shape.heads * (nope + rope)
    inner = count(text, "q_lora_rank")
    queries = inner * (shape.hidden + query) if inner else shape.hidden * query
    return (
        queries
        + shape.hidden * (rank + rope)
        + rank * shape.heads * (nope + value)
        + shape.heads * value * shape.hidden
    )


def stored(config: Config, text: Config, shape: Shape, total: int, file: Path) -> tuple[str, int | None]:
    """Type of the weights as published, and their bytes where they are not parameters x type."""
    quantised = typed(config, "quantization_config", dict) or typed(text, "quantization_config", dict)
    dtype = _quantised(quantised or _beside(file.with_name(QUANTISATION)), file)
    plain = _plain(config, text)
    size = _indexed(file.with_name(INDEX))
    if size is None and text.get("hybrid_override_pattern"):
        raise ConfigError(
            f"{file}: the weights of layers of several kinds cannot be counted from it",
            hint=f"put the model's {INDEX} beside it",
        )
    if dtype is None:
        return plain, size
    embedding = embeddings(config, text, shape)
    return dtype, size or int((total - embedding) * QUANTISED[dtype] / 8) + 2 * embedding


def _plain(config: Config, text: Config) -> str:
    """The type that the file says its weights have. Raises ValueError for an unknown one."""
    for part in (config, text):
        for field in ("torch_dtype", "dtype"):
            value = part.get(field)
            if value is None:
                continue
            name = str(value).removeprefix("torch.")
            if name not in TORCH:
                raise ValueError(f"{field} is {name[:40]}, not one of {', '.join(TORCH)}")
            return TORCH[name]
    return "bf16"


def _indexed(file: Path) -> int | None:
    try:
        size = json.loads(file.read_text("utf-8"))["metadata"]["total_size"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return int(size) if isinstance(size, int | float) and size > 0 else None


def _beside(file: Path) -> Any:
    """The quantisation that NVIDIA's ModelOpt writes into a file of its own."""
    try:
        return json.loads(file.read_text("utf-8")).get("quantization")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _quantised(how: Any, file: Path) -> str | None:
    """The weight type that a quantisation section means."""
    if not isinstance(how, dict):
        return None
    method = str(how.get("quant_method", "")).lower()
    bits, kind = how.get("bits") or how.get("weight_bits"), ""
    groups = how.get("config_groups")
    if isinstance(groups, dict) and groups:
        weights = next(iter(groups.values())).get("weights") or {}
        bits, kind = weights.get("num_bits"), str(weights.get("type", ""))
    algorithm = str(how.get("quant_algo") or how.get("fmt") or "").lower()
    if how.get("load_in_4bit"):
        bits = 4
    if how.get("load_in_8bit"):
        bits = 8
    if "mxfp4" in method or "mxfp4" in algorithm:
        return "mxfp4"
    if "fp4" in algorithm or (bits == 4 and kind == "float"):
        return "fp4"
    if "fp8" in method or "fp8" in algorithm or "e4m3" in algorithm or (bits == 8 and kind == "float"):
        return "fp8"
    name = {4: "int4", 8: "int8"}.get(bits if isinstance(bits, int) else 0)
    if name is None:
        raise ConfigError(
            f"{file} is quantised in an unknown way ({method or 'no quant_method'}, bits {bits})",
            hint=f"known: {', '.join(WEIGHT_BITS)}",
        )
    return name
