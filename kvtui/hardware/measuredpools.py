"""How far off pool sizes are: the estimate against servers that were started (data/pools.json)."""

import json
from functools import cache
from typing import Any, NamedTuple

from kvtui.hardware import catalogue
from kvtui.hardware.catalogue import GpuSpec
from kvtui.hardware.sizing import STATES, BatchLimits, Pool, pool
from kvtui.hardware.startup import GIB

LARGE = 0.05  # share of a pool: where as much may be missing the estimate is called an upper bound
GIVEN: dict[str, Any] = {
    "upper_bound": False,
    "left_out": [],
    "error": None,
}  # `report` of a pool that is known


class MeasuredPool(NamedTuple):
    """One server: ids of the catalogue, the bytes that its driver reported, its options and its blocks."""

    model: str
    gpu: str
    memory_bytes: int
    utilization: float
    vllm: str
    max_num_batched_tokens: int
    max_num_seqs: int
    tp: int
    num_gpu_blocks: int  # the null block included
    source: str
    dtype: str | None = None  # of the weights, where it is not the model's

    @property
    def estimate(self) -> Pool:
        """What is estimated for this server."""
        return _estimate(self)

    @property
    def error_pct(self) -> float:
        """By how much the estimate is larger than what was measured."""
        return 100 * ((self.estimate.blocks + 1) / self.num_gpu_blocks - 1)

    @property
    def error_bytes(self) -> int:
        """The same on one GPU."""
        return (self.estimate.blocks + 1 - self.num_gpu_blocks) * self.estimate.block_bytes


class PoolError(NamedTuple):
    """How far off estimates were on servers with this GPU, or with any where nobody measured one with it.
    Servers count of whose memory as much is known: nothing was left out, or something as here."""

    servers: int
    this_gpu: bool
    most_pct: float  # of their pools, too large or too small
    too_large_bytes: int  # on one GPU, at most


class Estimate(NamedTuple):
    """What is known of an estimated pool beside its size."""

    left_out: tuple[str, ...]  # what may take memory and is not in the sum
    error: PoolError
    doubtful: bool  # whether such an error would be a large part of this pool

    @property
    def upper_bound(self) -> bool:
        """Whether the true pool may well be smaller."""
        return bool(self.left_out)

    def report(self) -> dict[str, Any]:
        """As JSON. Keys are added, never renamed."""
        error = self.error
        return {
            "upper_bound": self.upper_bound,
            "left_out": list(self.left_out),
            "error": {
                "servers": error.servers,
                "this_gpu": error.this_gpu,
                "most_pct": round(error.most_pct, 1),
                "too_large": self.doubtful,
                "too_large_bytes": error.too_large_bytes,
            },
        }


@cache
def _estimate(server: MeasuredPool) -> Pool:
    return pool(
        catalogue.model(server.model),
        catalogue.gpu(server.gpu)._replace(memory_bytes=server.memory_bytes),
        utilization=server.utilization,
        tp=server.tp,
        dtype=server.dtype,
        limits=BatchLimits(server.max_num_batched_tokens, server.max_num_seqs),
        vllm=server.vllm,
    )


@cache
def measured_pools() -> tuple[MeasuredPool, ...]:
    """All that is known."""
    text = (catalogue.DATA / "pools.json").read_text("utf-8")
    return tuple(MeasuredPool(**row) for row in json.loads(text)["pools"])


@cache
def pool_error(gpu: str, *, complete: bool) -> PoolError:
    """Of pools on the GPU of that id; `complete` ones leave nothing out."""
    rows = [row for row in measured_pools() if complete is not row.estimate.upper_bound]
    here = [row for row in rows if row.gpu == gpu]
    counted = here or rows
    most = max(abs(row.error_pct) for row in counted)
    return PoolError(len(counted), bool(here), most, max(0, *(row.error_bytes for row in counted)))


def judged(sized: Pool, gpu: GpuSpec, *, states: bool = False) -> Estimate:
    """How good an estimate is; with `states` it counts those of linear-attention layers."""
    left_out = tuple(text for text in sized.left_out if not (states and text == STATES))
    error = pool_error(gpu.id, complete=not left_out)
    doubtful = error.too_large_bytes > LARGE * sized.bytes
    if doubtful:
        where = "this GPU" if error.this_gpu else "another GPU"
        size = f"{error.too_large_bytes / GIB:.1f} GiB"
        left_out = (*left_out, f"what a start may take beyond that ({size} more on {where})")
    return Estimate(left_out, error, doubtful)


def told(report: dict[str, Any]) -> str:
    """The report of an estimate in words."""
    off = f"an estimate, {off_by(report['error'])}"
    if not report["upper_bound"]:
        return off
    return f"{off}; an upper bound, left out: {', '.join(report['left_out'])}"


def off_by(error: dict[str, Any]) -> str:
    """The error of a report in words."""
    servers = f"{error['servers']} server{'s' * (error['servers'] > 1)}"
    where = "with this GPU" if error.get("this_gpu") else "with other GPUs"
    return f"off by {error['most_pct']:.1f} % at most on {servers} {where}"
