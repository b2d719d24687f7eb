"""Step times out of NVIDIA's measured tables: package aiconfigurator-core, extra `aiconfigurator`.

An estimate of it takes milliseconds and is not linear in the context, a run asks for millions of steps and
leaps over stretches of them. So it is asked once a run, at some batch sizes and prompt lengths; what lies
between them is interpolated, and with a constant batch the time is linear in the context.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import ModelSpec
from kvtui.hardware.names import same_model, served_as

PACKAGE = "aiconfigurator_core"
_CONFIG = "_config.json"
SYSTEMS = {
    **{"a100-80": "a100_sxm", "a100-80-pcie": "a100_pcie", "h100-sxm": "h100_sxm", "h100-pcie": "h100_pcie"},
    **{"h200": "h200_sxm", "b200": "b200_sxm", "b300": "b300_sxm", "gb200": "gb200", "l4": "l4"},
    **{"l40s": "l40s", "rtx-pro-6000": "rtx_pro_6000_server"},
}
KV_MODES = {"auto": None, "bf16": None, "fp16": None, "fp8": "fp8"}
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PROMPTS = (16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384)
SHORT, LONG = 1024, 8192  # contexts between which decodes are taken for linear
_MS = 10**9  # ps


class Estimates(Protocol):
    """What is asked of the package: times in ms of `bs` requests with `isl` tokens each."""

    def predict_decode_latency(self, bs: int, isl: int) -> float: ...

    def predict_prefill_latency(self, bs: int, isl: int) -> float: ...


@dataclass(frozen=True, slots=True)
class TableCost:
    """Step times in ps at `BATCHES` and `PROMPTS`, straight lines between.

    A step of decodes takes `fixed`, and `context` more a stored token; one with prompts as long as `linear`
    has it for all its tokens, if that is longer, and `pair` more a (query, key) pair of the prompts.
    """

    fixed: tuple[int, ...]  # of a decode step, by batch
    context: tuple[int, ...]  # a stored token, by batch
    linear: tuple[int, ...]  # of a prompt without attention, by its tokens
    pair: int

    @classmethod
    def measured(cls, handle: Estimates) -> TableCost:
        """What an engine of aiconfigurator answers, asked a few dozen times."""

        def decode(batch: int, context: int) -> int:
            return round(_MS * handle.predict_decode_latency(batch, context))

        def prompt(batch: int, tokens: int) -> int:
            return round(_MS * handle.predict_prefill_latency(batch, tokens))

        times = [(decode(n, SHORT), decode(n, LONG)) for n in BATCHES]
        context = tuple(
            max(far - near, 0) // (n * (LONG - SHORT)) for n, (near, far) in zip(BATCHES, times, strict=True)
        )
        near = zip(BATCHES, times, context, strict=True)
        pairs = LONG * (LONG - SHORT) // 2  # more in one long prompt than in short ones of as many tokens
        pair = max(prompt(1, LONG) - prompt(LONG // SHORT, SHORT), 0) // pairs
        return cls(
            fixed=tuple(max(time - n * SHORT * each, 0) for n, (time, _), each in near),
            context=context,
            linear=tuple(max(prompt(1, n) - pair * n * (n + 1) // 2, 0) for n in PROMPTS),
            pair=pair,
        )

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """See `CostModel.step`."""
        longest = _between(BATCHES, self.fixed, decodes) if decodes else 0
        if prefill or not decodes:
            longest = max(longest, _between(PROMPTS, self.linear, decodes + prefill))
        context = _between(BATCHES, self.context, decodes) * decode_context
        return longest + context + prefill_pairs * self.pair

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """See `CostModel.leap`: the context is an arithmetic series."""
        read = steps * decode_context + decodes * (steps * (steps - 1) // 2)
        each = _between(BATCHES, self.context, decodes)
        return steps * self.step(decodes, 0, 0, 0) + read * each


def known_as(model: ModelSpec) -> str:
    """What the package calls a model: by the configurations that it brings, for which it needs no network,
    else by the name on the hub or the folder of its `config.json`."""
    package = find_spec(PACKAGE)
    places = package.submodule_search_locations if package else None
    names = []
    for file in Path(places[0], "model_configs").glob(f"*{_CONFIG}") if places else ():
        name = file.name.removesuffix(_CONFIG).replace("--", "/", 1)
        if same_model(name, model):
            names.append(name)
    return min(names, key=lambda name: (len(name), name), default=served_as(model.id))


@cache
def table(model: str, gpu: str, tp: int, kv_dtype: str) -> TableCost:
    """For a model as `known_as` names it, under vLLM.

    Raises ConfigError where the package is missing, or knows neither the GPU nor the model.
    """
    if find_spec(PACKAGE) is None:
        raise ConfigError(
            "step times of aiconfigurator need the package aiconfigurator-core, which is not installed",
            hint="pip install 'kvtui[aiconfigurator]' (600 MB)",
        )
    if gpu not in SYSTEMS or kv_dtype not in KV_MODES:
        what, known = (gpu, SYSTEMS) if gpu not in SYSTEMS else (f"KV of type {kv_dtype}", KV_MODES)
        raise ConfigError(f"aiconfigurator has no times of {what}", hint=f"it has {', '.join(known)}")
    from aiconfigurator_core.sdk import EngineHandle

    logging.getLogger(PACKAGE).setLevel(logging.ERROR)  # it tells of every table that it has not
    mode = KV_MODES[kv_dtype]
    how = {"kvcache_quant_mode": mode} if mode else {}
    try:
        return TableCost.measured(EngineHandle.compile(model, SYSTEMS[gpu], "vllm", tp_size=tp, **how))
    except Exception as error:  # it raises what it will: no access to the hub, unknown architectures, no rows
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConfigError(
            f"aiconfigurator has no times of {model} on {tp} x {gpu}: {why}",
            hint="it looks up models that it does not know on the hub; --engine vllm needs nothing else",
        ) from None


def _between(grid: Sequence[int], values: Sequence[int], at: int) -> int:
    """On the straight line through the neighbours of `at` in the grid, or through the outermost two."""
    low = min(max(bisect_right(grid, at) - 1, 0), len(grid) - 2)
    left, right = grid[low], grid[low + 1]
    value = values[low] + (values[low + 1] - values[low]) * (at - left) // (right - left)
    return max(value, 0)
