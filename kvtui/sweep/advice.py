"""What a sweep says: the cells that nothing beats, the one to take, and its options for vLLM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil, inf
from typing import Any

from kvtui import __version__
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import KERNEL_BLOCK
from kvtui.frames.slo import Slo
from kvtui.hardware import money
from kvtui.hardware.names import served_as, several
from kvtui.sweep.cell import Cell, Result
from kvtui.sweep.grid import AXES
from kvtui.terms import HELD_EMPTY
from kvtui.timing.coefficients import DEFAULT_ENGINE, software

SCHEMA = 1
SAME = 1.01  # times as many tokens/s that are no difference
ATTAINMENT = 0.99  # share of requests that have to keep the limits
NEGLIGIBLE = 1.05  # ratio of prices up to which cells cost the same: within the error of the times
FP8_NOTE = "What KV of fewer bits does to answers is not simulated: compare them before you take it."
FRONT_NOTE = "* no other cell is at once no dearer, no slower (all p99) and no less reliable"
NO_LIMIT = "no limit was set: --slo-ttft, --slo-tpot and --slo-e2e set one"
LOAD_NOTE = (
    "GPUs for a load are at most so many: a replica counts with the good requests a second it had at the "
    "rate of this trace, and may bear more; --scale-rate shows how much."
)
_FLAGS = {
    "tp": "--tensor-parallel-size",
    "utilization": "--gpu-memory-utilization",
    "block_size": "--block-size",
    "kv_dtype": "--kv-cache-dtype",
    "max_num_seqs": "--max-num-seqs",
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_len": "--max-model-len",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished sweep, best first."""

    cells: tuple[tuple[Cell, Result], ...]
    pareto: frozenset[str]  # keys
    best: str | None  # key
    kept: bool  # whether the best one keeps the limits
    attainment: float
    load_rps: float | None

    @property
    def limited(self) -> bool:
        """Whether requests had to keep any limit."""
        return any(cell.slo != Slo() for cell, _ in self.cells)

    @property
    def chosen(self) -> tuple[Cell, Result] | None:
        """The best cell."""
        return next(((c, r) for c, r in self.cells if c.key == self.best), None)

    @property
    def varied(self) -> tuple[str, ...]:
        """The settings in which cells differ."""
        return tuple(name for name in AXES if len({getattr(cell, name) for cell, _ in self.cells}) > 1)


def answer(
    cells: Sequence[tuple[Cell, Result]], *, attainment: float = ATTAINMENT, load_rps: float | None = None
) -> Answer:
    """Order and judge. A cell is beaten by one that is no dearer, no slower and no less reliable."""
    done = [(c, r) for c, r in cells if r["status"] == "done"]
    pareto = frozenset(c.key for c, r in done if not any(_beats(_goals(o, q), _goals(c, r)) for o, q in done))
    keeping = [(c, r) for c, r in done if (r["slo_attainment"] or 0) >= attainment]
    least = min((price_of(c, r) for c, r in keeping), default=inf)
    cheap = [(c, r) for c, r in keeping if price_of(c, r) <= NEGLIGIBLE * least]
    best = min(cheap, key=lambda x: (not _served(x[0]), x[0].kv_dtype != "auto", *_rank(*x)), default=None)
    if best is None and done:
        best = min(done, key=lambda x: (-(x[1]["slo_attainment"] or 0), *_rank(*x)))
    ordered = sorted(
        cells,
        key=lambda x: (
            x[1]["status"] != "done",
            -min(x[1].get("slo_attainment") or 0, attainment),
            _rank(*x) if x[1]["status"] == "done" else (),
            x[0].key,
        ),
    )
    return Answer(tuple(ordered), pareto, best and best[0].key, bool(keeping), attainment, load_rps)


def load_told(found: Answer) -> str:
    """Where no setting makes a difference to speed, that the traffic is why."""
    speeds = [r["output_tokens_per_s"] for _, r in found.cells if r["status"] == "done"]
    rates = {cell.scale_rate for cell, _ in found.cells}
    if len(speeds) < 2 or len(rates) > 1 or max(speeds) > SAME * min(speeds):
        return ""
    return "All settings give the same tokens/s on this traffic; on more of it they may not."


def price_of(cell: Cell, result: Result) -> float:
    """Dollars for a million tokens; without a price GPU seconds for one, which orders the same way."""
    if result["usd_per_million_tokens"] is not None:
        return float(result["usd_per_million_tokens"])
    speed = result["output_tokens_per_s"]
    return cell.tp / speed if speed else inf


def on_what(cell: Cell) -> str:
    """The GPUs of a cell."""
    return several(cell.tp, cell.gpu)


def vllm_flags(cell: Cell, result: Result) -> str:
    """The options that give a server these settings, the longest request that was simulated included: the
    model's own maximum may not fit. What vLLM takes by itself is left out."""
    values = {name: getattr(cell, name) for name in _FLAGS} | {"max_len": result["max_model_len"]}
    parts = [
        f"{_FLAGS[name]} {value:g}" if isinstance(value, float) else f"{_FLAGS[name]} {value}"
        for name, value in values.items()
        if value is not None and (name, value) not in (("tp", 1), ("kv_dtype", "auto"))
    ]
    return " ".join(parts)


def serve_command(cell: Cell, result: Result) -> str | None:
    """How vLLM is started with these settings; None for memory or blocks that vLLM does not have, and where
    the times are those of another engine."""
    lane = LaneSpec.parse(cell.manager)
    if lane.manager != "paged" or not _served(cell) or software(cell.engine) != DEFAULT_ENGINE:
        return None
    cache = "" if lane.prefix_cache else " --no-enable-prefix-caching"
    return f"vllm serve {served_as(cell.model)} {vllm_flags(cell, result)}{cache}"


def _served(cell: Cell) -> bool:
    """Whether vLLM takes blocks of this size."""
    return cell.block_size % KERNEL_BLOCK == 0


def engine_told(cell: Cell) -> str | None:
    """That the times are not vLLM's."""
    timed = software(cell.engine)
    if timed == DEFAULT_ENGINE:
        return None
    return f"Step times are those of {timed}, not of vLLM: no command for vLLM follows from them."


def bits_told(found: Answer, cell: Cell) -> str | None:
    """Why K and V keep 16 bits where fewer were among the settings."""
    if cell.kv_dtype != "auto" or "kv_dtype" not in found.varied:
        return None
    return f"KV of fewer bits is no more than {NEGLIGIBLE - 1:.0%} cheaper here: it keeps 16 bits."


def blocks_told(cell: Cell) -> str | None:
    """That vLLM does not take these blocks."""
    if _served(cell):
        return None
    return f"vLLM takes blocks of a multiple of {KERNEL_BLOCK} tokens: none of {cell.block_size}."


def waste_told(cell: Cell, result: Result) -> str | None:
    """In a sentence what memory that is held empty is worth; None below a dollar, or unknown."""
    usd, price = result["waste_usd_per_month"], result["price"]
    if usd is None or price is None or usd < 1:
        return None
    rent = price["usd_per_gpu_hour"] * cell.tp * money.HOURS_A_MONTH
    share = f"{result['wasted_pct']:.1f} % of its KV memory is {HELD_EMPTY.name}"
    return f"{share}: that share of the rent, ${rent:,.0f} a month, is ${usd:,.0f}."


def gpus_for(cell: Cell, result: Result, load_rps: float | None, attainment: float) -> int | None:
    """GPUs that so many requests a second need at most, in whole replicas; None where this cell does not keep
    the limits. Why at most: `LOAD_NOTE`.
    """
    if load_rps is None or result["status"] != "done" or not result["goodput_rps"]:
        return None
    if (result["slo_attainment"] or 0) < attainment:
        return None
    return ceil(load_rps / float(result["goodput_rps"])) * cell.tp


def report(found: Answer) -> dict[str, Any]:
    """As JSON, schema 1: keys are added, never renamed."""
    best = found.chosen
    return {
        "schema": SCHEMA,
        "kvtui": __version__,
        "attainment_wanted": found.attainment,
        "load_rps": found.load_rps,
        "load_note": None if found.load_rps is None else LOAD_NOTE,
        "cells": [
            {
                "key": cell.key,
                "settings": asdict(cell),
                "pareto": cell.key in found.pareto,
                "gpus_for_load": gpus_for(cell, result, found.load_rps, found.attainment),
                **result,
            }
            for cell, result in found.cells
        ],
        "recommended": best
        and {
            "key": best[0].key,
            "keeps_slo": found.kept,
            "vllm_flags": vllm_flags(*best) if engine_told(best[0]) is None else None,
            "command": serve_command(*best) if found.kept else None,
        },
        "failed": [c.key for c, r in found.cells if r["status"] == "failed"],
    }


def _goals(cell: Cell, result: Result) -> tuple[float, ...]:
    """Smaller is better in each."""
    e2e = result["e2e_s"]["p99"]
    return price_of(cell, result), inf if e2e is None else e2e, -(result["slo_attainment"] or 0.0)


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _rank(cell: Cell, result: Result) -> tuple[float, ...]:
    price, e2e, good = _goals(cell, result)
    return price, e2e, good
