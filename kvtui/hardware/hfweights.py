"""In which type a `config.json` says its weights are stored, and how many bytes they take."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import QUANTISED, WEIGHT_BITS
from kvtui.hardware.hffields import typed

if TYPE_CHECKING:
    from kvtui.hardware.hfconfig import Shape

Config = dict[str, Any]

QUANTISATION = "hf_quant_config.json"  # both lie beside the config.json
INDEX = "model.safetensors.index.json"
LEAST_BITS = 0.5  # of a parameter: no model is stored in fewer
TORCH = {
    **{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"},
    "float8_e4m3fn": "fp8",
}
NOT_QUANTISED = ("modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers")
_WIDE = re.compile(r"(attn|attention|experts?|mlp|_proj|layers\.\d+)[.*)]*$")
_ASIDE = ("mtp", "vision", "model.vision", "visual", "model.visual")  # not part of what is counted
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


def stored(config: Config, text: Config, shape: Shape, total: int, file: Path) -> tuple[str, int | None]:
    """Type of the weights as published, and their bytes where they are not parameters x type."""
    how, size = _how(config, text, file), indexed(file)
    dtype, plain = _quantised(how, file), _plain(config, text)
    if size is not None and size * 8 < total * LEAST_BITS:
        raise ConfigError(
            f"{file.with_name(INDEX)} says that {total:,} parameters take {size:,} bytes",
            hint="take it out of the folder, or fetch it once more",
        )
    if size is None and isinstance(how, dict) and "mixed" in str(how.get("quant_algo")).lower():
        raise ConfigError(
            f"{file}: weights are stored in several types, which it does not count",
            hint=f"put the model's {INDEX} beside it",
        )
    if dtype is None:
        return plain, size
    embedding = embeddings(config, text, shape)
    return dtype, size or int((total - embedding) * QUANTISED[dtype] / 8) + 2 * embedding


def stay_wide(config: Config, text: Config, file: Path) -> bool:
    """Whether layers other than embeddings, routers and norms are left out of the quantisation."""
    how = _how(config, text, file)
    listed = [how.get(field) for field in NOT_QUANTISED] if isinstance(how, dict) else []
    names = [str(name) for names in listed if isinstance(names, list) for name in names]
    return any(_WIDE.search(name) and not name.startswith(_ASIDE) for name in names)


def _how(config: Config, text: Config, file: Path) -> Any:
    """What is said of quantisation, in the file or beside it."""
    said = typed(config, "quantization_config", dict) or typed(text, "quantization_config", dict)
    return said or _beside(file.with_name(QUANTISATION))


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


def indexed(file: Path) -> int | None:
    """Bytes of all weights by the index beside a `config.json`, where there is one."""
    try:
        size = json.loads(file.with_name(INDEX).read_text("utf-8"))["metadata"]["total_size"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    known = isinstance(size, int | float) and not isinstance(size, bool) and size > 0
    return int(size) if known else None


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
