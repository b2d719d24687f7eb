"""Prefix hits by cache size, and with a second tier in host memory: one pass over a trace, beside real runs.

Figures are shares of all prompt tokens. Derived ones are of a least recently used cache with the pool to
itself, and of one as large as pool and host memory together (what leaves the GPU goes to the host), in units
that the trace names. The runs beside them are step-exact, with running requests in the same pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kvtui.answers.hitcurve import HitCurve, hit_curve, sizes_for
from kvtui.answers.subject import headline, pool_told, subject
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware.kvtypes import token_bytes
from kvtui.traces.info import hit_rate_ceiling

GIB = 1 << 30
BAR = 40  # cells
RUNS = 3  # step-exact ones at most


def hits(
    experiment: Experiment, *, host_gib: float, told: Callable[[str, int], None] = lambda *_: None
) -> dict[str, Any]:
    """Hit rates by size, of the GPU's own pool and of a host tier behind it. Raises ConfigError for a trace
    that does not say which prefixes are the same."""
    kv_dtype = experiment.lanes[-1].kv_dtype
    lane = LaneSpec("paged", block_size=experiment.block_size, kv_dtype=kv_dtype)
    experiment = replace(experiment, lanes=(lane,))
    curve = hit_curve(experiment.workload)
    token = token_bytes(experiment.model, kv_dtype, tp=experiment.tp)
    pool = experiment.pool_slots(experiment.lanes[0])
    host = int(host_gib * GIB) // token
    both = curve.found((pool + host) // curve.unit)
    return {
        **subject(experiment),
        "unit_tokens": curve.unit,
        "curve": [_point(curve, size, token) for size in sizes_for(curve)],
        "ceiling": round(hit_rate_ceiling(experiment.workload) or 0.0, 6),
        "tiers": {
            "gpu_tokens": pool,
            "gpu_hit_rate": round(curve.found(pool // curve.unit), 6),
            "host_gib": host_gib,
            "host_tokens": host,
            "host_hit_rate": round(both - curve.found(pool // curve.unit), 6),
            "label": "derived",
        },
        "runs": _runs(experiment, pool, told),
    }


def _point(curve: HitCurve, size: int, token: int) -> dict[str, Any]:
    tokens = size * curve.unit
    return {
        "units": size,
        "tokens": tokens,
        "gib": round(tokens * token / GIB, 3),
        "hit_rate": round(curve.found(size), 6),
        "label": "derived",
    }


def _runs(experiment: Experiment, pool: int, told: Callable[[str, int], None]) -> list[dict[str, Any]]:
    """Runs step for step with the pool there is, with less and with more."""
    least = int((experiment.workload.prompt + experiment.workload.output).max(initial=1)) + 64
    lane_bytes, given_bytes = (
        token_bytes(experiment.model, kind, tp=experiment.tp)
        for kind in (experiment.lanes[0].kv_dtype, "auto")
    )
    runs = []
    for slots in sorted({max(pool // 4, least), max(pool, least), 4 * pool})[:RUNS]:
        given = -(-slots * lane_bytes // given_bytes)  # a pool is given in slots of 16 bits
        (lane,) = replace(experiment, slots=given).build(watched=False)
        lane.run()
        prefix = lane.engine.scheduler.prefix
        rate = round(prefix.hits / prefix.queries, 6) if prefix.queries else None
        runs.append({"tokens": lane.info.pool_tokens, "hit_rate": rate, "label": "simulated"})
        told(f"{slots:,} slots", len(runs))
    return runs


def text(found: dict[str, Any], *, ascii: bool = False) -> str:
    """A picture of the curve, the tiers, and the runs."""
    lines = [
        f"{headline(found)}, units of {found['unit_tokens']} tokens",
        "",
    ]
    lines += [f"{'GiB':>9}{'tokens':>13}{'hits':>8}   of a cache that has the memory to itself"]
    for point in found["curve"]:
        bar = ("=" if ascii else "▇") * round(BAR * point["hit_rate"])
        lines.append(f"{point['gib']:>9,.2f}{point['tokens']:>13,}{point['hit_rate']:>8.1%}   {bar}".rstrip())
    tiers = found["tiers"]
    lines += [
        f"{'no limit':>9}{'':>13}{found['ceiling']:>8.1%}",
        "",
        f"the GPU's pool of {tiers['gpu_tokens']:,} tokens finds {tiers['gpu_hit_rate']:.1%} (derived)",
        f"{tiers['host_gib']:g} GiB of host memory find {tiers['host_hit_rate']:.1%} more (derived)",
        *_told(found["runs"]),
        *pool_told(found["pool"]),
    ]
    return "\n".join(lines)


def _told(runs: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"step for step, beside running requests: {run['tokens']:,} tokens find "
        + ("n/a" if run["hit_rate"] is None else f"{run['hit_rate']:.1%}")
        for run in runs
    ]
