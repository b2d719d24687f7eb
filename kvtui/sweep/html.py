"""A sweep as one page that needs nothing but a browser: plot, table, settings, errors and caveats."""

from __future__ import annotations

from html import escape

from kvtui import __version__
from kvtui.sweep.advice import (
    FP8_NOTE,
    Answer,
    bits_told,
    blocks_told,
    engine_told,
    gpus_for,
    load_told,
    on_what,
    price_of,
    serve_command,
    waste_told,
)
from kvtui.sweep.cell import Cell, Result
from kvtui.sweep.plot import Point, scatter
from kvtui.sweep.table import known_errors, named, pools_told
from kvtui.sweep.words import SETTINGS, setting
from kvtui.terms import COST, E2E, GOODPUT, HELD_EMPTY, RATE, SLO_KEPT, TPOT, TTFT
from kvtui.timing.predict import INHERITED
from kvtui.traces.synthetic import bundled, recipe
from kvtui.units import kept_text

STYLE = """
:root{--ground:#fbfaf7;--text:#22262b;--soft:#5c646d;--line:#ddd9d0;--best:#0b7a5b;--front:#2f6fb0;--other:#a9a295}
@media(prefers-color-scheme:dark){:root{--ground:#15181c;--text:#e8e6e1;--soft:#a0a7af;--line:#343a41;
--best:#43c59e;--front:#6fa8dc;--other:#6b6f75}}
body{background:var(--ground);color:var(--text);font:16px/1.55 system-ui,sans-serif;max-width:66rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.7rem;line-height:1.2}h2{font-size:1.15rem;margin-top:2.2rem}
p.lead{font-size:1.1rem}p.note,li{color:var(--soft)}
code{font:0.92em ui-monospace,monospace;background:color-mix(in srgb,var(--line) 45%,transparent);
padding:.15em .4em;border-radius:4px;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}
th,td{padding:.4em .5em;text-align:right;border-bottom:1px solid var(--line)}
td small{color:var(--soft);font-size:.85em;white-space:nowrap}
td.figure{white-space:nowrap}td.figure small{display:block}
th{color:var(--soft);font-weight:600;line-height:1.25}th:first-child,td:first-child{text-align:left}
th,table.facts td{vertical-align:top}table.facts td{text-align:left;overflow-wrap:anywhere}
table.facts td:first-child{width:32%}
.key{margin-right:1.2em}.key::before{content:"";display:inline-block;width:.75em;height:.75em;
border-radius:50%;margin-right:.4em;background:var(--c)}
tr.best td{font-weight:650;color:var(--best)}
svg{width:100%;height:auto}.grid{stroke:var(--line)}.tick,.axis{fill:var(--soft);font-size:12px}
.front{fill:none;stroke:var(--front);stroke-width:1.5;stroke-dasharray:4 4}
g.best{fill:var(--best);stroke:var(--best)}g.front{fill:var(--front);stroke:var(--front);stroke-dasharray:none}
g.other{fill:var(--other);stroke:var(--other)}
"""
KEY = "".join(
    f'<span class=key style="--c:var(--{kind})">{text}</span>'
    for kind, text in (
        ("best", "to be taken"),
        ("front", "no other is at once no dearer, no slower and no less reliable (joined by the line)"),
        ("other", "beaten by another"),
    )
)
FIGURES = (
    *(COST.name, SLO_KEPT.name, GOODPUT.name, RATE.name),
    *(TTFT.name, TPOT.name, E2E.name, HELD_EMPTY.name),
)
COLUMNS = (
    "Of the times, 99 of 100 requests have a shorter one; behind ± is the median error of such predictions "
    "where others measured any, which were means. "
    f"{COST.name}: {COST.means}. {SLO_KEPT.name}: the share of requests that keep the limits. "
    f"{GOODPUT.name.capitalize()}: so many of them a second. {TTFT.name}: from the arrival of a request to "
    f"the first token of its answer. {TPOT.name}: the mean time of each that follows. {E2E.name}: of the "
    f"whole request. {HELD_EMPTY.name.capitalize()}: the mean share of the whole memory for K and V that is "
    "held and empty, or in holes too small for a request, and what that share of the rent is. The settings "
    "to be taken are marked."
)
FOLLOW = "n/a, nobody has measured: they follow from the times and the memory"
REST = {
    f"{RATE.name}, {COST.name}": INHERITED,
    ", ".join((SLO_KEPT.name, GOODPUT.name, HELD_EMPTY.name)): FOLLOW,
}
ESTIMATED = (
    "The size of KV memory is an estimate: a server measures what is left at start-up. "
    "<code>--from-log</code> takes it from a server's log."
)
CAVEATS = (
    "Every scheduler decision is simulated step for step by the rules of vLLM; seconds come from a model of "
    "step times that was fitted to published measurements, with the errors named above.",
    "Requests arrive when the trace says so, however long the queue is; answers have the recorded length.",
    "Dollars follow from a price per GPU hour that you set, or an example with its date; what empty memory "
    "is worth takes memory for all that a GPU is rented for.",
    "One replica was simulated, and GPUs for a load are whole replicas of it. They are at most so many: a "
    "replica counts with the requests a second that it served within the limits at the rate of this trace, "
    "and may bear more.",
)


def page(found: Answer) -> str:
    """The whole page. No scripts, no fonts, no addresses: it opens offline and prints."""
    done = [(c, r) for c, r in found.cells if r["status"] == "done"]
    first = found.cells[0][0] if found.cells else None
    title = f"{_trace(first)}: {len(found.cells):,} settings compared"
    whole = "".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>",
            _asked(found, first),
            _lead(found),
            _plot(found, done),
            f"<h2>All settings, best first</h2>{_table(found, done)}",
            _others(found),
            f"<h2>How far off the times may be</h2>{_errors(done)}",
            f"<h2>What was the same for all</h2>{_settings(found, first)}",
            "<h2>What to keep in mind</h2><ul>",
            *(f"<li>{text}</li>" for text in (*CAVEATS, *([] if _given(first) else [ESTIMATED]))),
            f"</ul><p class=note>kvtui {__version__}</p></body></html>\n",
        ]
    )
    return whole.encode("utf-8", "replace").decode()  # names of files may be no text


def _given(cell: Cell | None) -> bool:
    """Whether the size of the memory was given."""
    return cell is not None and cell.slots is not None


def _trace(cell: Cell | None) -> str:
    return cell.trace.split("/")[-1] if cell else "no trace"


def _asked(found: Answer, first: Cell | None) -> str:
    """What was done, and what was asked of it."""
    if first is None:
        return ""
    names = " and ".join(sorted({cell.model for cell, _ in found.cells}))
    what = (
        f"The requests of the trace {_trace(first)} were replayed on a simulated server with {names}, "
        "once with each combination of settings. "
    )
    told = first.slo.text
    wanted = f"Wanted for {found.attainment:.0%} of the requests: {told} at most." if told else ""
    return f"<p>{escape(what + wanted)}</p>"


def _lead(found: Answer) -> str:
    if found.chosen is None:
        return "<p class=lead>None of the settings ran to its end.</p>"
    cell, r = found.chosen
    good = f"{kept_text(r['slo_attainment'])} of the requests"
    gpus = gpus_for(cell, r, found.load_rps, found.attainment)
    load = (
        f" {found.load_rps:g} requests a second need at most <b>{gpus:,} GPU{'s' * (gpus > 1)}</b>, "
        "at the rate of this trace."
        if gpus
        else ""
    )
    place = f"On {on_what(cell)}"
    if not found.kept:
        settings = escape(f"{place}, {named(found, cell)}")
        nearest = (
            f"No settings keep the limits for {found.attainment:.0%} of the requests; the nearest: {good}."
        )
        return f"<p class=lead>{nearest}</p><p>{settings}</p>"
    fewer_bits = FP8_NOTE if cell.kv_dtype != "auto" else bits_told(found, cell)
    notes = [blocks_told(cell), engine_told(cell), fewer_bits, waste_told(cell, r), load_told(found)]
    command = serve_command(cell, r)
    settings = escape(f"{place}, {named(found, cell)}" if command is None else f"{place}: ")
    code = "" if command is None else f"<code>{escape(command)}</code>"
    lead = f"{_verdict(found, r, good)}{load} {escape(' '.join(filter(None, notes)))}".rstrip()
    return f"<p class=lead>{lead}</p><p>{settings}{code}</p>"


def _verdict(found: Answer, r: Result, good: str) -> str:
    cost = "n/a" if r["usd_per_million_tokens"] is None else f"${r['usd_per_million_tokens']:.2f}"
    if not found.limited:
        return f"The cheapest settings cost <b>{cost}</b> a million tokens; no limit was set."
    return (
        f"The cheapest settings that keep the limits cost <b>{cost}</b> a million tokens; {good} keep them."
    )


def _plot(found: Answer, done: list[tuple[Cell, Result]]) -> str:
    points = []
    for cell, r in done:
        y = r["e2e_s"]["p99"]
        if y is None:
            continue
        kind = "best" if cell.key == found.best else "front" if cell.key in found.pareto else "other"
        text = f"{named(found, cell)}: {y:.2f} s, {r['output_tokens_per_s']:,.0f} tokens/s"
        points.append(Point(price_of(cell, r), y, kind, text))
    if not points:
        return ""
    priced = all(r["usd_per_million_tokens"] is not None for _, r in done)
    x = "dollars for a million generated tokens" if priced else "GPU seconds a token"
    return (
        "<h2>Cost against waiting</h2><p class=note>Each dot is one combination of settings: left is "
        "cheaper, low is faster. How far off the time of a whole request is nobody has measured. "
        f"Point at a dot to see which it is.</p><p class=note>{KEY}</p>"
        + scatter(points, x=x, y="seconds within which 99 of 100 requests are done")
    )


def _table(found: Answer, done: list[tuple[Cell, Result]]) -> str:
    names = found.varied
    heads = [*([SETTINGS.get(n, n) for n in names] or [""]), *FIGURES]
    rows = []
    for cell, r in done:
        row = [setting(name, getattr(cell, name)) for name in names] or ["the only one"]
        texts = [f"<td>{escape(text).replace(':', ':<wbr>')}</td>" for text in row]
        texts += [f"<td class=figure>{text}</td>" for text in _figures(r)]
        mark = " class=best" if cell.key == found.best else ""
        rows.append(f"<tr{mark}>{''.join(texts)}</tr>")
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return f"<p class=note>{COLUMNS}</p><div class=scroll><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _figures(r: Result) -> list[str]:
    """As `FIGURES` has them, the most asked for first."""
    usd, month, good = r["usd_per_million_tokens"], r["waste_usd_per_month"], r["goodput_rps"]
    empty = f"{r['wasted_pct']:.1f} %" + ("" if month is None else f" <small>${month:,.0f} a month</small>")
    return [
        "n/a" if usd is None else f"{usd:.2f}",
        kept_text(r["slo_attainment"]),
        "n/a" if good is None else f"{good:,.2f}",
        f"{r['output_tokens_per_s']:,.0f}",
        *(_time(r, key) for key in ("ttft", "tpot", "e2e")),
        empty,
    ]


def _time(r: Result, key: str) -> str:
    value, error = r[f"{key}_s"]["p99"], r["expected_error"].get(key)
    if value is None:
        return "n/a"
    text = f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.1f} s"
    return f"{text} <small>±{error['median_pct']:.0f} %</small>" if error else f"{text} <small>±n/a</small>"


def _others(found: Answer) -> str:
    rest = [(c, r) for c, r in found.cells if r["status"] != "done"]
    if not rest:
        return ""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for cell, r in rest:
        by_reason.setdefault((r["status"], r["reason"]), []).append(named(found, cell))
    items = [
        f"<li>{escape('; '.join(names))}: {escape(reason)} ({status})</li>"
        for (status, reason), names in by_reason.items()
    ]
    return f"<h2>What did not run</h2><ul>{''.join(items)}</ul>"


def _errors(done: list[tuple[Cell, Result]]) -> str:
    rows = []
    for name, error in known_errors(done):
        figures = ["n/a"] * 4
        if error:
            how = "held out" if error["held_out"] else "fitted"
            figures = [f"{error['median_pct']:.0f} %", f"{error['p90_pct']:.0f} %", f"{error['n']:,}"]
            figures.append(f"{error['measured_on']} ({how})")
        cells = "".join(f"<td>{escape(text)}</td>" for text in (name, *figures))
        rows.append(f"<tr>{cells}</tr>")
    rows += [
        f"<tr><td>{escape(name)}</td><td colspan=4>{escape(told)}</td></tr>"
        for name, told in [*REST.items(), *pools_told(done)]
    ]
    head = (
        "<th>time</th><th>median error</th><th>9 of 10 errors are below</th><th>measurements</th><th>on</th>"
    )
    note = (
        "Predictions against benchmarks that others published. Held out: the model of step times had not "
        "been fitted to these measurements."
    )
    table = f"<table><tr>{head}</tr>{''.join(rows)}</table>"
    return f"<p class=note>{note}</p><div class=scroll>{table}</div>"


def _settings(found: Answer, cell: Cell | None) -> str:
    if cell is None:
        return ""
    left = {*found.varied, *(f"{name}_sha256" for name in found.varied), "slo", "price"}
    left |= set() if cell.pool_from else {"pool_from"}
    left |= {n for n in ("model_sha256", "engine_sha256") if getattr(cell, n) is None}
    shown = {n: getattr(cell, n) for n in cell.__dataclass_fields__ if n not in left}
    words = {SETTINGS.get(name, name): setting(name, value) for name, value in shown.items()}
    words["seed"] = _seed(found)
    words["limits"] = cell.slo.text or "none"
    prices = {f"price of {c.gpu}": r["price"] for c, r in found.cells if r.get("price")}
    words |= {n: f"${p['usd_per_gpu_hour']:g} a GPU hour ({p['source']})" for n, p in prices.items()}
    cells = [f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in words.items()]
    return f"<div class=scroll><table class=facts>{''.join(cells)}</table></div>"


def _seed(found: Answer) -> str:
    """Seeds of the traces: nothing else in a sweep is drawn."""
    names = dict.fromkeys(cell.trace for cell, _ in found.cells)
    seeds = [f"{recipe(name).seed}, of the bundled trace {name}" for name in names if name in bundled()]
    return "; ".join(seeds) or "none: nothing is drawn"
