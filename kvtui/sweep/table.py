"""A sweep's answer as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvtui.hardware.measuredpools import told
from kvtui.sweep.advice import (
    FP8_NOTE,
    FRONT_NOTE,
    LOAD_NOTE,
    NO_LIMIT,
    Answer,
    bits_told,
    blocks_told,
    engine_told,
    gpus_for,
    load_told,
    on_what,
    serve_command,
    waste_told,
)
from kvtui.sweep.cell import Cell, Result
from kvtui.terms import COST, E2E, GOODPUT, HELD_EMPTY, RATE, SLO_KEPT, TPOT, TTFT
from kvtui.timing.predict import INHERITED
from kvtui.units import kept_text

HEADS = {
    "max_num_batched_tokens": "tokens/step",
    "max_num_seqs": "seqs",
    "block_size": "block",
    "utilization": "util",
    "kv_dtype": "kv",
    "scale_rate": "rate x",
}
LATENCIES = {"ttft": TTFT, "tpot": TPOT, "e2e": E2E}
RATES = (SLO_KEPT.brief, GOODPUT.brief, RATE.brief)
FIGURES = (*RATES, *(term.name for term in LATENCIES.values()), HELD_EMPTY.brief, COST.brief)
FIGURES_NOTE = (
    f"{SLO_KEPT.brief}: requests that keep the limits; {GOODPUT.brief}: such requests a second; {TTFT.name}: "
    f"time to the first token, {TPOT.name}: for each further one, {E2E.name}: for the whole request (99 of "
    "100 are faster)"
)
EMPTY_NOTE = (
    f"{HELD_EMPTY.brief}: held and empty, or in holes too small for a request: the mean share of the whole "
    "pool"
)
WIDTH = 80  # columns that are kept to where one space between columns does it
FOLLOW = "n/a, nobody has measured: they follow from the times and the pool"
UNMEASURED = {
    f"{RATE.brief}, {COST.brief}": INHERITED,
    ", ".join((SLO_KEPT.brief, GOODPUT.brief, HELD_EMPTY.brief)): FOLLOW,
}
MORE = "--scale-rate 4 sends it four times as fast."
ALONE = "It was the only one: several values of an option, as --block-size 16,32, are compared."
ROWS = 40  # of the table; --json has all


def table(found: Answer) -> str:
    """Best first, `*` for what nothing beats, then the recommendation and what did not run."""
    done = [(c, r) for c, r in found.cells if r["status"] == "done"]
    names = found.varied
    head = [" ", *(HEADS.get(name, name) for name in names), *FIGURES]
    if found.load_rps is not None:
        head.append("GPUs")
    rows = [head, *(_row(found, c, r, names) for c, r in done[:ROWS])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    gap = "  " if sum(widths) + 2 * len(widths) - 2 <= WIDTH else " "
    lines = [gap.join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    if len(done) > ROWS:
        lines.append(f"... and {len(done) - ROWS:,} more (--json has them)")
    if done:
        lines += [FIGURES_NOTE, EMPTY_NOTE, FRONT_NOTE]
    if found.load_rps is not None:
        lines.append(LOAD_NOTE)
    return "\n".join([*_subject(done), *lines, "", *_advice(found), *_errors(done), *_rest(found)])


def _subject(done: list[tuple[Cell, Result]]) -> list[str]:
    """What was run."""
    if not done:
        return []
    cell, result = done[0]
    models = ", ".join(dict.fromkeys(Path(cell.model).name for cell, _ in done))
    gpus = ", ".join(dict.fromkeys(on_what(cell) for cell, _ in done))
    longest = ", ".join(dict.fromkeys(f"{r['max_model_len']:,}" for _, r in done))
    asked = f"{Path(cell.trace).name}: {result['requests']:,} requests of up to {longest} tokens"
    return [f"{asked}; {models} on {gpus}", ""]


def _row(found: Answer, cell: Cell, r: Result, names: tuple[str, ...]) -> list[str]:
    row = [
        "*" if cell.key in found.pareto else " ",
        *(_setting(getattr(cell, name)) for name in names),
        kept_text(r["slo_attainment"]),
        _rate(r["goodput_rps"]),
        f"{r['output_tokens_per_s']:,.0f}",
        *(_time(r[key]["p99"]) for key in ("ttft_s", "tpot_s", "e2e_s")),
        f"{r['wasted_pct']:.1f}%",
        "n/a" if r["usd_per_million_tokens"] is None else f"{r['usd_per_million_tokens']:.2f}",
    ]
    if found.load_rps is not None:
        gpus = gpus_for(cell, r, found.load_rps, found.attainment)
        row.append("n/a" if gpus is None else f"{gpus:,}")
    return row


def _advice(found: Answer) -> list[str]:
    if found.chosen is None:
        return ["No cell ran to its end."]
    cell, result = found.chosen
    settings = f"on {on_what(cell)}, {named(found, cell)}"
    if not found.kept:
        worst = kept_text(result["slo_attainment"])
        wanted = f"{found.attainment:.0%} (--attainment)"
        return [f"No cell keeps the limits for {wanted}; the nearest has {worst}: {settings}."]
    head = "Cheapest that keeps the limits:" if found.limited else f"Cheapest ({NO_LIMIT}):"
    command = serve_command(cell, result)
    lines = [settings] if command is None else [f"on {on_what(cell)}:", f"  $ {command}"]
    notes = [FP8_NOTE] if cell.kv_dtype != "auto" else []
    told = [blocks_told(cell), engine_told(cell), bits_told(found, cell), waste_told(cell, result)]
    told.append(f"{more} {MORE}" if (more := load_told(found)) else "")
    told.append(ALONE if len(found.cells) == 1 else "")
    return [head, *lines, *notes, *filter(None, told)]


def _errors(done: list[tuple[Cell, Result]]) -> list[str]:
    """One line for each kind of prediction that was made."""
    seen = known_errors(done)
    lines = ["", "Times are predicted. Errors on means that others published:"] if seen else []
    for name, error in seen:
        if error is None:
            lines.append(f"  {name}: n/a, nobody has measured")
        else:
            how = "held out" if error["held_out"] else "fitted"
            lines.append(
                f"  {name}: median {error['median_pct']:.0f} %, p90 {error['p90_pct']:.0f} % "
                f"({error['n']:,} {how}: {error['measured_on']})"
            )
    lines += [f"  {name}: {told}" for name, told in [*UNMEASURED.items(), *pools_told(done)]] if seen else []
    prices = {
        f"{c.gpu}: ${r['price']['usd_per_gpu_hour']:g} an hour, {r['price']['source']}"
        for c, r in done
        if r["price"]
    }
    return [*lines, *sorted(prices)]


def known_errors(done: list[tuple[Cell, Result]]) -> list[tuple[str, Any]]:
    """Errors by what was predicted, each as often as they differ: by engine, kind of model and GPU. None
    where nobody measured."""
    seen: list[tuple[str, Any]] = []
    for cell, r in done:
        for name, error in r["expected_error"].items():
            one = f"{LATENCIES[name].name} ({cell.engine})", error
            if one not in seen:
                seen.append(one)
    return seen


def pools_told(done: list[tuple[Cell, Result]]) -> list[tuple[str, str]]:
    """How far off estimates of KV memory were on servers that others started, by GPU."""
    said: dict[tuple[str, str], None] = {}
    for cell, r in done:
        pool = r.get("pool")
        if pool and pool["error"]:
            said[f"pool ({cell.gpu})", told(pool)] = None
        elif cell.slots is not None:
            said["pool", f"as {cell.pool_from} says" if cell.pool_from else "as it was given"] = None
    return list(said)


def _rest(found: Answer) -> list[str]:
    lines = []
    for cell, r in found.cells:
        if r["status"] != "done":
            lines.append(f"{r['status']}: {named(found, cell)}: {r['reason']}")
    return ["", *lines] if lines else []


def named(found: Answer, cell: Cell) -> str:
    """A cell by the settings in which it differs from others."""
    names = found.varied
    return ", ".join(f"{HEADS.get(n, n)} {_setting(getattr(cell, n))}" for n in names) or "the only cell"


def _setting(value: Any) -> str:
    if value is None:
        return "default"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _rate(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _time(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.1f} s"
