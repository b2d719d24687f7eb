"""What one token's K and V take in memory, by the element type they are stored in.

Layouts as in vLLM (v1/kv_cache_interface.py): one type for the whole cache, or one scale for each token and
head beside the data, or packed latents of multi-head latent attention.
"""

from __future__ import annotations

from typing import NamedTuple

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup, ModelSpec, nearest

_SCALES = 8  # bytes a token and head: fp32 for K and for V


class KvType(NamedTuple):
    """Bytes a number; of the scales a token and head; of a token's latent in a layer, where that is fixed."""

    element: float
    scales: int = 0
    latent: int | None = None
    mla_only: bool = False


KV_TYPES = {
    "auto": KvType(2),
    "bf16": KvType(2),
    "fp16": KvType(2),
    "fp8": KvType(1),
    "fp8_per_token_head": KvType(1, _SCALES),
    "int8_per_token_head": KvType(1, _SCALES),
    "int4_per_token_head": KvType(0.5, _SCALES),
    "fp8_ds_mla": KvType(1, latent=656, mla_only=True),
    "nvfp4_ds_mla": KvType(0.5, latent=352, mla_only=True),
}
_SAME = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}


def kv_type(name: str) -> str:
    """The name that KV_TYPES has for it. Raises ConfigError for an unknown one."""
    known = _SAME.get(name.lower(), name.lower())
    if known not in KV_TYPES:
        raise ConfigError(f'unknown KV type "{name}"', hint=nearest(name, KV_TYPES))
    return known


def token_bytes(model: ModelSpec, name: str = "auto", *, tp: int = 1, beyond_window: bool = False) -> int:
    """KV bytes of one token on one of `tp` GPUs; see `ModelSpec.kv_bytes_per_token` for `beyond_window`.

    Raises ConfigError for a type that does not go with the model's attention.
    """
    kind = KV_TYPES[kv_type(name)]
    latent = any(group.kind == "mla" for group in model.kv_groups)
    if kind.mla_only and not latent:
        raise ConfigError(f"{name} stores latents; {model.label} has none", hint="fp8 is what it can have")
    if kind.scales and latent:
        raise ConfigError(f"{name} has a scale a head; the latents of {model.label} have no heads")
    return sum(
        _group_bytes(group, kind, tp) for group in model.kv_groups if not (beyond_window and group.window)
    )


def _group_bytes(group: KvGroup, kind: KvType, tp: int) -> int:
    if group.kind == "mla" and kind.latent is not None:
        return group.layers * kind.latent
    heads = 0 if group.kind in ("mla", "linear") else group.layers * max(1, group.kv_heads // tp)
    return int(group.kv_elements(tp) * kind.element) + heads * kind.scales


def element_bytes(model: ModelSpec, name: str = "auto", *, tp: int = 1) -> float:
    """Bytes a number that is read, its share of the scales included."""
    elements = sum(group.kv_elements(tp) for group in model.kv_groups)
    return token_bytes(model, name, tp=tp) / elements if elements else KV_TYPES[kv_type(name)].element
