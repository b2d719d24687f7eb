"""Which block size: what each costs on a trace. Waste, tables and throughput are simulated step for step; the
price of small blocks in attention kernels is taken from measurements of others, and unknown elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from kvtui.answers.report import summary
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ENTRY_BYTES = 4  # of a block table
LEVEL = 0.99  # share of the best throughput that counts as the best
BAR = 30  # cells
HEAD = (
    f"{'block':>5}{'waste':>8}{'table':>9}{'fit':>6}{'batch':>8}{'tokens/s':>10}{'hits':>7}"
    "  kernels (measured, over their best)"
)
Row = dict[str, Any]

# Time of one decode (or prefill) attention kernel by page size, in ms, as others measured it.
MEASURED: tuple[dict[str, Any], ...] = (
    {
        "kernel": "FlashAttention 4 forward, B200, 4 decodes of 131,072 tokens, 32 heads",
        "source": "Dao-AILab/flash-attention pull request 1999",
        "ms": {1: 9.906, 32: 6.345, 128: 2.147},
    },
    {
        "kernel": "AITER CK paged prefill, MI350, 4,096 of 8,192 tokens, head size 128",
        "source": "ROCm/FlyDSL pull request 1066",
        "ms": {1: 0.2739, 16: 0.2392},
    },
)


def table(
    experiment: Experiment,
    sizes: Sequence[int] = SIZES,
    *,
    told: Callable[[str, int], None] = lambda *_: None,
) -> dict[str, Any]:
    """A row for each block size, the measured kernel times, and a sentence. `told` hears of progress."""
    rows = []
    for size in sizes:
        rows.append(_row(experiment, size))
        told(f"{size}-token blocks", len(rows))
    return {
        "trace": experiment.trace_name,
        "model": experiment.model.id,
        "gpu": experiment.gpu.id,
        "label": "simulated",
        "rows": rows,
        "kernels": [
            {
                **known,
                "ms": {str(size): ms for size, ms in known["ms"].items()},
                "label": "measured by others",
            }
            for known in MEASURED
        ],
        "verdict": _verdict(rows),
    }


def _row(experiment: Experiment, size: int) -> Row:
    lane = replace(experiment, lanes=(LaneSpec("paged", block_size=size),))
    (built,) = lane.build(watched=False)
    built.run()
    report = summary(lane, (built,))["lanes"][0]
    kv, limit = report["kv"], built.engine.rules.max_model_len
    held = kv["token_states_pct"] + kv["tail_pct"]
    entries = -(-limit // size)
    return {
        "block_size": size,
        "waste_pct": round(100 * kv["tail_pct"] / held, 3) if held else None,
        "table_entries": entries,
        "table_bytes": entries * ENTRY_BYTES,
        "pool_blocks": kv["blocks"],
        "fits_mean": report["fits"]["mean"],
        "batch_mean": report["batch"]["mean"],
        "output_tokens_per_s": report["throughput"]["output_tokens_per_s"],
        "preemptions": report["requests"]["preemptions"],
        "prefix_hit_rate": report["prefix"]["hit_rate"],
        "kernel_penalty_pct": _penalties(size),
    }


def _penalties(size: int) -> list[float | None]:
    """For each measured kernel, how much longer than at its best page size, in per cent; None = unknown."""
    found = []
    for known in MEASURED:
        ms, best = known["ms"].get(size), min(known["ms"].values())
        found.append(None if ms is None else round(100 * (ms / best - 1), 1))
    return found


def _verdict(rows: Sequence[Row]) -> str:
    best = max(row["output_tokens_per_s"] for row in rows)
    good = [row["block_size"] for row in rows if row["output_tokens_per_s"] >= LEVEL * best]
    worst = min(rows, key=lambda row: row["output_tokens_per_s"])
    loss = 100 * (1 - worst["output_tokens_per_s"] / best)
    if len(good) == len(rows):
        return "The block size hardly matters on this traffic; take the largest your kernels like."
    level = f"Blocks of {good[0]} to {good[-1]} tokens are within {100 * (1 - LEVEL):.0f} % of the best here"
    lost = f"{worst['block_size']} loses {loss:.0f} % of the tokens/s"
    return f"{level}; {lost}. Of those the largest has the shortest tables and the fastest kernels."


def text(found: dict[str, Any]) -> str:
    """The table, a picture of waste and throughput, and what was measured of kernels."""
    lines = [f"{found['trace']}: {found['model']} on {found['gpu']}, {found['label']}", "", HEAD]
    best = max(row["output_tokens_per_s"] for row in found["rows"]) or 1.0
    lines += [_line(row) for row in found["rows"]]
    lines += ["", f"{'':>5}  {'tokens/s':<{BAR}}  waste inside blocks"]
    for row in found["rows"]:
        speed = _bar("▇", row["output_tokens_per_s"] / best)
        lines.append(
            f"{row['block_size']:>5}  {speed}  {_bar('░', (row['waste_pct'] or 0.0) / 100)}".rstrip()
        )
    lines += [""]
    for known in found["kernels"]:
        times = ", ".join(f"{size}: {ms:g} ms" for size, ms in known["ms"].items())
        lines += wrap(f"measured by others: {known['kernel']}: {times} ({known['source']})", 100)
    return "\n".join([*lines, "", *wrap(found["verdict"], 100)])


def _bar(glyph: str, share: float) -> str:
    return f"{glyph * round(BAR * share):<{BAR}}"


def _line(row: Row) -> str:
    waste = "n/a" if row["waste_pct"] is None else f"{row['waste_pct']:.1f}%"
    hits = "n/a" if row["prefix_hit_rate"] is None else f"{row['prefix_hit_rate']:.0%}"
    kernels = " ".join("n/a" if p is None else f"+{p:.0f}%" for p in row["kernel_penalty_pct"])
    return (
        f"{row['block_size']:>5}{waste:>8}{row['table_bytes']:>7,} B{row['fits_mean']:>6,}"
        f"{row['batch_mean']:>8.1f}{row['output_tokens_per_s']:>10,.0f}{hits:>7}  {kernels}"
    )
