"""The headless comparison as a table: one row a figure, one column a lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import getitem
from typing import Any

from kvtui.answers.subject import pool_told
from kvtui.answers.verdict import UNLIMITED
from kvtui.hardware.names import several
from kvtui.terms import (
    COST,
    E2E,
    EVICTED,
    FINISHED,
    HIT_AGAIN,
    HIT_RATE,
    KV_POOL,
    MEAN_BATCH,
    PARTS,
    PEAK_BATCH,
    PREEMPTED,
    RATE,
    REJECTED,
    SLO_KEPT,
    TPOT,
    TTFT,
    UNFINISHED,
    WAITED,
    Term,
)
from kvtui.units import kept_text

Lane = dict[str, Any]
Row = tuple[str, Callable[[Lane], str]]
EACH = "  on each GPU"  # of several that a model is split over
GIB = 2**30
MIB = 2**20


def _part(term: Term) -> Row:
    return f"  {term.name}", lambda x: f"{_figure(x, term):.1f}%"


def _latency(term: Term, which: str) -> Row:
    return f"{term.glossed} {which}", lambda x: _time(_figure(x, term)[which])


def _figure(lane: Lane, term: Term) -> Any:
    """What the lane of a report has under the term's key."""
    return reduce(getitem, term.key.split("."), lane)


ROWS: tuple[Row | None, ...] = (
    (MEAN_BATCH.name, lambda x: f"{x['batch']['mean']:.1f}"),
    (PEAK_BATCH.name, lambda x: f"{x['batch']['peak']:,}"),
    None,
    (FINISHED.name, lambda x: f"{x['requests']['finished']:,} of {x['requests']['total']:,}"),
    (REJECTED.name, lambda x: f"{x['requests']['rejected']:,}"),
    (UNFINISHED.name, lambda x: f"{x['requests']['unfinished']:,}"),
    (PREEMPTED.name, lambda x: f"{x['requests']['preemptions']:,}"),
    None,
    ("block size", lambda x: f"{x['kv']['block_size']:,} tokens"),
    (KV_POOL.name, lambda x: f"{x['kv']['pool_tokens']:,} slots"),
    (EACH, lambda x: f"{x['kv']['pool_bytes'] / GIB:.2f} GiB"),
    *map(_part, PARTS),
    (HIT_RATE.name, lambda x: _rate(x["prefix"]["hit_rate"])),
    (f"  {HIT_AGAIN.name}", lambda x: _rate(x["prefix"]["readmission_hit_rate"])),
    (f"  {EVICTED.name}", lambda x: f"{x['kv']['evictions']:,}"),
    ("saved by sharing", lambda x: f"{x['sharing']['saved_pct']:.1f}%"),
    ("blocks copied", lambda x: f"{x['sharing']['copied_blocks']:,}"),
    ("blocks swapped out", lambda x: f"{x['sharing']['swapped_out_blocks']:,}"),
    None,
    ("fit at the maximum", lambda x: f"{x['fits']['max_len']:,}"),
    ("fit at the mean length", lambda x: f"{x['fits']['mean']:,}"),
    ("fit at the p99 length", lambda x: f"{x['fits']['p99']:,}"),
    (WAITED.name, lambda x: _of_time(x["waiting_for_memory_pct"])),
    None,
    *(_latency(term, which) for term in (TTFT, TPOT, E2E) for which in ("p50", "p99")),
    (RATE.name, lambda x: f"{x['throughput']['output_tokens_per_s']:,.0f}"),
    (COST.name, lambda x: _dollars(x.get("cost"))),
    ("time", lambda x: f"{x['time_s']:,.1f} s"),
    ("steps", lambda x: f"{x['steps']:,}"),
)
DEVICE_ROWS: tuple[Row, ...] = (
    ("carried out on", lambda x: x["backend"]["device"] or "-"),
    ("tensors allocated", lambda x: _device(x, "allocated_bytes", lambda n: f"{n / MIB:,.1f} MiB")),
    ("  layers", lambda x: _device(x, "kv_layers", lambda n: f"{n} of {x['backend']['model_layers']}")),
    (
        "  with all layers",
        lambda x: _device(x, "extrapolated", lambda e: f"~{e['allocated_bytes'] / GIB:,.2f} GiB"),
    ),
    ("a step, measured", lambda x: _step(x, "measured_s")),
    ("  all layers, extrap.", lambda x: _step(x, "extrapolated_s")),
    ("  whole model, derived", lambda x: _step(x, "derived_s")),
    ("attention", lambda x: x["backend"].get("attention", "-")),
    (
        "requests checked",
        lambda x: _device(x, "verify", lambda v: f"{v['checked']:,}" if v["every"] else "-"),
    ),
    ("  read wrong", lambda x: _device(x, "verify", lambda v: f"{v['failed']:,}" if v["every"] else "-")),
)
KEPT: Row = (SLO_KEPT.name, lambda x: kept_text((x.get("slo") or {}).get("attainment")))
PRESSURE = "more load: --scale-rate 4 sends the same requests four times as fast; a smaller --gpu holds fewer"
WIDTH = 24  # of a label
COLUMN = 16


def table(report: dict[str, Any]) -> str:
    """The report of a run as plain text."""
    lanes: Sequence[Lane] = report["lanes"]
    lines = [*_head(report), "", " " * WIDTH + "".join(f"{x['name']:>{COLUMN}}" for x in lanes)]
    lines += [_row(row, lanes) for row in rows(report)]
    lines += ["", report["verdict"], *_remarks(report)]
    if "article" in report:
        lines += ["", *_article(report["article"])]
    return "\n".join(lines)


def rows(report: dict[str, Any]) -> list[Row | None]:
    """The lines of the table that say something of this run; None between groups of them."""
    lanes, one = report["lanes"], report["config"]["tensor_parallel"] == 1
    kept = [KEPT] if any(x.get("slo") for x in lanes) else []
    carried_out = [None, *DEVICE_ROWS] if any(_measured(x) for x in lanes) else []
    always = [("", row[1]) if one and row and row[0] == EACH else row for row in ROWS]
    return [*always, *kept, *carried_out]


def _row(row: Row | None, lanes: Sequence[Lane]) -> str:
    if row is None:
        return ""
    label, figure = row
    return f"{label:<{WIDTH}}" + "".join(f"{figure(x):>{COLUMN}}" for x in lanes)


def _measured(lane: Lane) -> bool:
    return bool(lane["backend"]["name"] != "simulated")


def _device(lane: Lane, key: str, words: Callable[[Any], str]) -> str:
    """A figure of a measured lane in words."""
    return words(lane["backend"][key]) if lane["backend"].get(key) is not None else "-"


def _step(lane: Lane, key: str) -> str:
    """A step on average; "~" before what is not measured itself."""
    value = (lane["backend"].get("step") or {}).get(key)
    return "-" if value is None else f"{'' if key == 'measured_s' else '~'}{value * 1000:,.2f} ms"


def _real(lanes: Sequence[Lane]) -> list[str]:
    """What derived times are made of, and what is to be known about a table of step times."""
    said = [x["backend"] for x in lanes]
    lines = [
        "whole model, derived: memory's part as measured, extrapolated to all layers, and all else as "
        f"predicted for {derived['predicted_for']}"
        for x in said
        if (derived := x.get("derived"))
    ]
    lines += [note for x in said for note in (x.get("steptimes") or {}).get("notes", ())]
    return list(dict.fromkeys(lines))


def _article(static: dict[str, Any]) -> list[str]:
    lines = [f"The static count of the article, over {static['seeds']:,} seeds:"]
    for name in ("contiguous", "paged"):
        median, least, most = (static[name][key] for key in ("median", "least", "most"))
        lines.append(f"  {name:<12} {median:g} fit at once at full length ({least} to {most})")
    lines.append(f"  ratio        {static['ratio']:.1f}x")
    return [*lines, "", static["explanation"]]


def _head(report: dict[str, Any]) -> list[str]:
    trace, config = report["trace"], report["config"]
    left_out = sum(x["count"] for x in trace["left_out"])
    requests = f"{trace['requests']:,} requests" + (f" ({left_out:,} rows left out)" if left_out else "")
    span = ", no recorded times" if trace["span_s"] is None else f" over {trace['span_s']:,.1f} s"
    return [
        f"{trace['name']}: {requests}{span}",
        f"{config['model']} on {_where(report)}; requests of up to {config['max_len']:,} tokens",
    ]


def _where(report: dict[str, Any]) -> str:
    """What the times are those of: the GPU that is simulated, the device that measures, or both."""
    config, measured = report["config"], [x for x in report["lanes"] if _measured(x)]
    places = []
    if len(measured) < len(report["lanes"]):
        places.append(f"{several(config['tensor_parallel'], config['gpu'])}, simulated")
    if measured:
        whole = all(x["backend"].get("gemm") for x in measured)
        places.append(f"{config['device']}{'' if whole else ' (attention and copies only)'}, measured")
    return " and on ".join(places)


def _remarks(report: dict[str, Any]) -> list[str]:
    lines = []
    for lane in report["lanes"]:
        lines += [f"{lane['name']}: {_rejection(x)}" for x in lane["rejections"]]
        lines += [f"{lane['name']}: {note}" for note in lane["notes"]]
    lines += [PRESSURE] if report["verdict"].endswith(UNLIMITED) else []
    lines += _predicted(report["lanes"]) + _real(report["lanes"])
    lines += pool_told(report["config"]["pool"])
    assumed = [*report["trace"]["assumed"], *report["config"]["assumed"]]
    lines += [f"assumed: {text}" for text in assumed]
    lines += [f"left out: {x['count']:,} rows, {x['reason']}" for x in report["trace"]["left_out"]]
    return ["", *lines] if lines else []


def _rejection(entry: dict[str, Any]) -> str:
    return (
        f"{entry['count']:,} rejected: {entry['reason']} (the first, request {entry['first']}, needs "
        f"{entry['needed']:,} {entry['unit']}, there are {entry['available']:,})"
    )


def _dollars(cost: dict[str, Any] | None) -> str:
    usd = cost and cost["usd_per_million_tokens"]
    return "n/a" if usd is None else f"{usd:,.2f}"


def _predicted(lanes: Sequence[Lane]) -> list[str]:
    """How far off the times may be, and whose the price is: the same for all lanes that are simulated."""
    lines = []
    for key, what in (("tpot_s", TPOT), ("ttft_s", TTFT)):
        errors = [e for x in lanes if (e := (x.get("expected_error") or {}).get(key))]
        if errors:
            lines.append(
                f"{what.name} is predicted: error {errors[0]['median_pct']:.0f} % (median), "
                f"{errors[0]['p90_pct']:.0f} % (p90) on {errors[0]['n']:,} published measurements "
                f"({errors[0]['measured_on']})"
            )
    prices = {c["source"]: c["usd_per_gpu_hour"] for x in lanes if (c := x.get("cost"))}
    return lines + [f"price: ${usd:g} a GPU hour ({source})" for source, usd in prices.items()]


def _of_time(share: float | None) -> str:
    return "n/a" if share is None else f"{share:.1f}% of time"


def _rate(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"


def _time(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.1f} s"
