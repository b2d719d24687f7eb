"""Which block size: what each costs on a trace. Waste, tables and throughput are simulated step for step; the
price of small blocks in attention kernels is taken from measurements of others, and unknown elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kvtui.answers.report import summary
from kvtui.answers.subject import headline, pool_told, subject
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import KERNEL_BLOCK

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ENTRY_BYTES = 4  # of a block table
LEVEL = 0.99  # share of the best throughput that counts as the best
BAR = 30  # cells
USUAL = 16  # tokens, vLLM's own choice on GPUs
HEAD = f"{'block':>5}{'waste':>9}{'table':>9}{'fit':>6}{'batch':>8}{'tokens/s':>10}{'hits':>7}"
HELD = "of what requests hold"  # what a waste is a share of
COLUMN = 13  # of a measured kernel
Row = dict[str, Any]

# Time of one decode (or prefill) attention kernel by page size, in ms, as others measured it.
MEASURED: tuple[dict[str, Any], ...] = (
    {
        "column": "FA4, B200",
        "kernel": "FlashAttention 4 forward, B200, 4 decodes of 131,072 tokens, 32 heads",
        "source": "Dao-AILab/flash-attention pull request 1999",
        "ms": {1: 9.906, 32: 6.345, 128: 2.147},
    },
    {
        "column": "CK, MI350",
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
        **subject(experiment),
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
    spec = LaneSpec("paged", block_size=size, kv_dtype=experiment.lanes[-1].kv_dtype)
    lane = replace(experiment, lanes=(spec,))
    (built,) = lane.build(watched=False)
    built.run()
    report = summary(lane, (built,))["lanes"][0]
    kv, limit = report["kv"], built.engine.rules.max_model_len
    held = kv["token_states_pct"] + kv["tail_pct"]
    entries = -(-limit // size)
    return {
        "block_size": size,
        "in_vllm": size % KERNEL_BLOCK == 0,
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
    loss = 100 * (1 - worst["output_tokens_per_s"] / best) if best else 0.0
    if len(good) == len(rows):
        level = f"All sizes are within {100 * (1 - LEVEL):.0f} % of the best tokens/s here"
    else:
        sizes = ", ".join(map(str, good))
        level = f"Blocks of {sizes} tokens are within {100 * (1 - LEVEL):.0f} % of the best tokens/s here"
        level += f"; {worst['block_size']} loses {loss:.0f} %"
    return f"{level}. {_take([row for row in rows if row['in_vllm'] and row['block_size'] in good])}"


def _take(good: Sequence[Row]) -> str:
    """Which of the sizes that vLLM takes and that cost no throughput: its own choice where that is one."""
    if not good:
        return f"None of the best is a size that vLLM takes (multiples of {KERNEL_BLOCK})."
    row = next((row for row in good if row["block_size"] == USUAL), good[0])
    waste = "n/a" if row["waste_pct"] is None else f"{row['waste_pct']:.1f} %"
    own = "vLLM's own choice, and " if row["block_size"] == USUAL else ""
    least = (
        "the smallest that vLLM's kernels take"
        if row["block_size"] == KERNEL_BLOCK
        else "no smaller one does as well"
    )
    return f"Run {row['block_size']}: {own}{least}, so it wastes least at block ends ({waste} {HELD})."


def text(found: dict[str, Any], *, ascii: bool = False) -> str:
    """The table, a picture of what each size loses, and what was measured of kernels."""
    rows, columns = found["rows"], [known["column"] for known in found["kernels"]]
    lines = [
        f"{headline(found)}, {found['label']}",
        "",
        " " * len(HEAD) + "  attention, longer than at its best",
        HEAD + "".join(f"{column:>{COLUMN}}" for column in columns),
        *map(_line, rows),
        f"waste: empty ends of blocks, the mean share {HELD}",
        f"* no size for vLLM: its FlashAttention and Triton kernels take multiples of {KERNEL_BLOCK} tokens",
        "",
        *_picture(rows, "=-" if ascii else "▇░"),
        "",
    ]
    for known in found["kernels"]:
        times = ", ".join(f"{size}: {ms:g} ms" for size, ms in known["ms"].items())
        lines.append(f"{known['column']}, measured by others: {known['kernel']}: {times} ({known['source']})")
    return "\n".join([*lines, "", found["verdict"], *pool_told(found["pool"])])


def _picture(rows: Sequence[Row], glyphs: str) -> list[str]:
    """Tokens/s lost against the best size, and what requests hold lost at block ends: bars of one scale."""
    best = max(row["output_tokens_per_s"] for row in rows) or 1.0
    losses = [(100 * (1 - row["output_tokens_per_s"] / best), row["waste_pct"] or 0.0) for row in rows]
    most = max(max(pair) for pair in losses) or 1.0
    lines = [f"{'':>5}  {'tokens/s lost':<{BAR + 8}}lost at block ends, {HELD}"]
    for row, pair in zip(rows, losses, strict=True):
        bars = [
            f"{glyph * round(BAR * loss / most)} {loss:.1f}%"
            for glyph, loss in zip(glyphs, pair, strict=True)
        ]
        lines.append(f"{row['block_size']:>5}  {bars[0].strip():<{BAR + 8}}{bars[1].strip()}")
    return lines


def _line(row: Row) -> str:
    waste = "n/a" if row["waste_pct"] is None else f"{row['waste_pct']:.1f}%"
    hits = "n/a" if row["prefix_hit_rate"] is None else f"{row['prefix_hit_rate']:.0%}"
    kernels = "".join(f"{'n/a' if p is None else f'+{p:.0f}%':>{COLUMN}}" for p in row["kernel_penalty_pct"])
    return (
        f"{row['block_size']:>5}{' ' if row['in_vllm'] else '*'}{waste:>8}{row['table_bytes']:>7,} B"
        f"{row['fits_mean']:>6,}{row['batch_mean']:>8.1f}{row['output_tokens_per_s']:>10,.0f}{hits:>7}{kernels}"
    )
