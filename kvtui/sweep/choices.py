"""Which values an axis of a sweep can have, told before any cell runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.hardware.kvtypes import kv_type
from kvtui.hardware.names import gpu_named, model_named
from kvtui.serving.rules import release
from kvtui.timing.stepcost import engine_known

UNSAID = LaneSpec("", block_size=0, kv_dtype="")  # tells what a lane says itself
AXIS_OF_LANE = {"block_size": "--block-size", "kv_dtype": "--kv-dtype"}


def known(name: str, value: Any) -> Any:
    """The value as a cell has it. Raises ConfigError, with what there is, for one that no cell could use."""
    return CHECKS[name](value) if name in CHECKS else value


def _as_it_is(check: Callable[[str], object]) -> Callable[[str], str]:
    def checked(value: str) -> str:
        check(value)
        return value

    return checked


def _lane(text: str) -> str:
    spec = LaneSpec.parse(text, default=UNSAID)
    for key, flag in AXIS_OF_LANE.items():
        if getattr(spec, key) != getattr(UNSAID, key):
            raise ConfigError(
                f"manager {text}: {key} is an axis of its own in a sweep", hint=f"say it with {flag}"
            )
    if spec.measured:
        raise ConfigError(f"manager {text}: a sweep is simulated", hint="kvtui run measures on a device")
    return text


def _share(value: float) -> float:
    if value > 1:
        raise ConfigError(f"GPU memory utilisation must be above 0 and at most 1, not {value:g}")
    return value


CHECKS: dict[str, Callable[[Any], Any]] = {
    "model": _as_it_is(model_named),
    "gpu": _as_it_is(gpu_named),
    "engine": _as_it_is(engine_known),
    "vllm": _as_it_is(release),
    "kv_dtype": kv_type,
    "manager": _lane,
    "utilization": _share,
}
