"""How far off pool sizes are: the estimate against servers that were started (data/pools.json)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from kvtui.hardware import catalogue
from kvtui.hardware.catalogue import GpuSpec
from kvtui.hardware.sizing import BatchLimits, pool

LARGE = 5.0  # per cent beyond which an estimate that was too large is called an upper bound
BEYOND = "more than was estimated, which start-up took on this GPU where it was measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPool:
    """One server: ids of the catalogue, the bytes that its driver reported, its options and its blocks."""

    model: str
    gpu: str
    memory_bytes: int
    utilization: float
    vllm: str  # as it ran
    rules: str  # whose sum it made
    max_num_batched_tokens: int
    max_num_seqs: int
    tp: int
    num_gpu_blocks: int  # the null block included
    source: str

    @property
    def error_pct(self) -> float:
        """By how much the estimate is larger than what was measured."""
        sized = pool(
            catalogue.model(self.model),
            replace(catalogue.gpu(self.gpu), memory_bytes=self.memory_bytes),
            utilization=self.utilization,
            tp=self.tp,
            limits=BatchLimits(self.max_num_batched_tokens, self.max_num_seqs),
            vllm=self.rules,
        )
        return 100 * ((sized.blocks + 1) / self.num_gpu_blocks - 1)


class PoolError(NamedTuple):
    """What is known of the error of an estimate."""

    servers: int
    this_gpu: bool  # whether they had this GPU; else none has, and these are all
    most_pct: float
    too_large: bool  # whether one with this GPU had a much smaller pool

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return self._asdict() | {"most_pct": round(self.most_pct, 1)}


@cache
def measured_pools() -> tuple[MeasuredPool, ...]:
    """All that is known."""
    text = (catalogue.DATA / "pools.json").read_text("utf-8")
    return tuple(MeasuredPool(**row) for row in json.loads(text)["pools"])


def pool_error(gpu: GpuSpec) -> PoolError:
    """Of pools on this GPU, or on any where nobody measured one on it."""
    here = [row.error_pct for row in measured_pools() if row.gpu == gpu.id]
    errors = here or [row.error_pct for row in measured_pools()]
    return PoolError(len(errors), bool(here), max(map(abs, errors)), bool(here) and max(here) > LARGE)
