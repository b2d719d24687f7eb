"""A grid of settings: every combination of the values that were asked for is a cell."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any

from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL
from kvtui.errors import ConfigError
from kvtui.frames.slo import NO_LIMITS, Slo
from kvtui.hardware.catalogue import nearest
from kvtui.serving.rules import NEWEST
from kvtui.sweep.cell import Cell
from kvtui.sweep.choices import known
from kvtui.sweep.digests import sealed
from kvtui.traces.synthetic import bundled

AXES = (
    *("model", "gpu", "tp", "manager", "block_size", "kv_dtype", "utilization", "max_num_seqs"),
    *("max_num_batched_tokens", "max_len", "engine", "vllm", "scale_rate"),
)
_KINDS: dict[str, type] = {
    **dict.fromkeys(("model", "gpu", "manager", "kv_dtype", "engine", "vllm"), str),
    **dict.fromkeys(("utilization", "scale_rate"), float),
    **dict.fromkeys(("tp", "block_size", "max_num_seqs", "max_num_batched_tokens", "max_len"), int),
}
MOST = 100_000  # cells


def cells_of(
    trace: str, axes: Mapping[str, Sequence[Any]], *, sha256: str, slo: Slo = NO_LIMITS, **fixed: Any
) -> list[Cell]:
    """Every combination on a trace of that digest; what `fixed` (fields of `Cell`) and axes leave open is as
    usual. Raises ConfigError."""
    bundled_one = trace in bundled() and not Path(trace).exists()
    usual = {"model": DEFAULT_MODEL, "gpu": DEFAULT_GPU, "vllm": NEWEST, "slo": slo, "trace_sha256": sha256}
    return expand(usual | fixed | {"trace": trace if bundled_one else str(Path(trace).resolve())}, axes)


def expand(fixed: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[Cell]:
    """Every combination, the last axis fastest; the same cell comes once. Raises ConfigError."""
    names = [name for name in AXES if axes.get(name)]
    count = 1
    for name in names:
        count *= len(axes[name])
    if count > MOST:
        raise ConfigError(
            f"{count:,} cells are more than the {MOST:,} of a sweep", hint="fewer values an axis"
        )
    cells = [
        Cell(**{**fixed, **dict(zip(names, values, strict=True))})
        for values in product(*(axes[name] for name in names))
    ]
    return sealed(dict.fromkeys(cells))


def values(name: str, text: str) -> tuple[Any, ...]:
    """The values of an axis from "16,32,64". Raises ConfigError for what is not of its kind, or unknown."""
    kind = _KINDS[name]
    parts = [part.strip() for part in text.split(";" if ";" in text else ",") if part.strip()]
    try:
        found = tuple(dict.fromkeys(kind(part) for part in parts))
    except ValueError:
        raise ConfigError(f"{name} {text}: values such as {_example(kind)}") from None
    if not found or any(kind is not str and not value > 0 for value in found):
        raise ConfigError(f"{name} {text!r} has no value above 0", hint=f"values such as {_example(kind)}")
    return tuple(dict.fromkeys(known(name, value) for value in found))


def read_grid(path: str) -> tuple[dict[str, tuple[Any, ...]], dict[str, Any]]:
    """Axes and SLO of a TOML file: `block_size = [16, 32]`, and a table `[slo]`. Raises ConfigError."""
    try:
        data = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    slo = data.pop("slo", {})
    limits = {field.name for field in fields(Slo)}
    for name, value in (slo if isinstance(slo, dict) else {"slo": 0}).items():
        if name not in limits:
            raise ConfigError(f"{path}: [slo] knows no {name}", hint=", ".join(sorted(limits)))
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < MOST:
            raise ConfigError(f"{path}: [slo] {name} is {value!r}", hint="seconds above 0, such as 0.5")
    axes = {}
    for name, value in data.items():
        if name not in AXES:
            raise ConfigError(f"{path}: no axis {name}", hint=nearest(name, AXES))
        axes[name] = listed(name, value)
    return axes, slo


def listed(name: str, value: Any) -> tuple[Any, ...]:
    """The values of an axis from a list of them, or from one. Raises ConfigError."""
    several = value if isinstance(value, (list, tuple)) else [value]
    return values(name, ";".join(map(str, several)) + ";")


def _example(kind: type) -> str:
    return {int: "16,32", float: "0.9,0.95"}.get(kind, "a,b")
