"""What a comparison says in a sentence or two, the honest one included when paging hardly matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvtui.units import tenths

LITTLE = 1.1  # ratio below which a gain is little
MOST = 0.5  # share of refused requests above which a comparison says nothing
WHOLE = ("auto", "bf16", "fp16")  # types of KV that lose nothing
SELDOM = 5.0  # per cent of the time below which memory was not the limit

UNLIMITED = "Memory was hardly ever the limit: requests seldom waited for it."

Report = dict[str, Any]


def verdict(lanes: Sequence[Report]) -> str:
    """The last lane against the first, and what those between them did, from their reports."""
    if len(groups := _by_clock(lanes)) > 1:
        apart = "Simulated and measured lanes keep different clocks, and are not compared."
        return " ".join([*map(verdict, groups), apart])
    base, other = lanes[0], lanes[-1]
    total = base["requests"]["total"]
    if all(x["requests"]["unfinished"] == total for x in lanes) and not any(x["steps"] for x in lanes):
        return "Nothing ran: the run was cut before the first request."
    refused = [x for x in lanes if x["requests"]["rejected"] > MOST * total and x["rejections"]]
    if refused:
        return " ".join(_refusal(x) for x in refused)
    if len(lanes) == 1:
        return f"{base['name']} runs {_mean(base)} requests at once on average. {_limit(lanes)}".strip()
    parts = [_comparison(base, other), *map(_between, lanes[1:-1]), _answers(lanes), _limit(lanes)]
    return " ".join(filter(None, parts))


def _by_clock(lanes: Sequence[Report]) -> list[list[Report]]:
    """Lanes whose times are of one kind: predicted for a GPU, or measured on a device."""
    groups: dict[str, list[Report]] = {}
    for lane in lanes:
        groups.setdefault(lane.get("backend", {}).get("name", "simulated"), []).append(lane)
    return list(groups.values())


def _comparison(base: Report, other: Report) -> str:
    cut = any(x["requests"]["unfinished"] for x in (base, other))
    speed = _ratio(other["throughput"]["output_tokens_per_s"], base["throughput"]["output_tokens_per_s"])
    waiting = _ratio(base["latency"]["ttft_s"]["mean"], other["latency"]["ttft_s"]["mean"])
    batch = _ratio(other["batch"]["mean"], base["batch"]["mean"])
    if cut:
        done = [f"{x['name']} had finished {x['requests']['finished']:,}" for x in (other, base)]
        at = tenths(max(base["time_s"], other["time_s"])) / 10
        more = f"{_batches(base, other)}, {speed:.1f}x the tokens/s"
        return f"Cut at {at:,.1f} s: {done[0]}, {done[1]}; {more}."
    name = other["name"]
    faster = f"{other['time_s']:,.1f} s against {base['time_s']:,.1f} s ({speed:.1f}x the tokens/s)"
    if max(speed, waiting, batch) < LITTLE:
        if min(speed, waiting) * LITTLE < 1:
            return f"{name} loses on this traffic: it runs {_batches(base, other)}, and is done in {faster}."
        return f"{name} wins little on this traffic: {_batches(base, other)}."
    if batch < 1 < speed:
        fewer = f"it runs {_batches(base, other)}, fewer because each is through sooner"
        return f"{name} is done in {faster}; {fewer}."
    return f"{name} runs {_batches(base, other)}, and is done in {faster}."


def _between(lane: Report) -> str:
    requests = lane["requests"]
    end = f"is done in {lane['time_s']:,.1f} s"
    if requests["unfinished"]:
        end = f"had finished {requests['finished']:,}"
    return f"{lane['name']} runs {_mean(lane)} and {end}."


def _answers(lanes: Sequence[Report]) -> str:
    """A word where lanes differ in how exactly they store KV: that is no like for like."""
    types = dict.fromkeys(lane.get("kv_dtype") or WHOLE[0] for lane in lanes)
    fewer = [name for name in types if name not in WHOLE]
    return f"What {' and '.join(fewer)} KV does to answers is not simulated." if fewer else ""


def _limit(lanes: Sequence[Report]) -> str:
    """Whether memory was what held requests back."""
    waiting = [x["waiting_for_memory_pct"] for x in lanes]
    if all(share is not None and share < SELDOM for share in waiting):
        return UNLIMITED
    return ""


def _refusal(lane: Report) -> str:
    worst = max(lane["rejections"], key=lambda entry: int(entry["count"]))
    requests = lane["requests"]
    return (
        f"{lane['name']} refused {requests['rejected']:,} of {requests['total']:,} requests: "
        f"{worst['reason']} (the first needs {worst['needed']:,} {worst['unit']}, there are "
        f"{worst['available']:,})."
    )


def _batches(base: Report, other: Report) -> str:
    ratio = _ratio(other["batch"]["mean"], base["batch"]["mean"])
    times = f" ({ratio:.1f}x)" if base["batch"]["mean"] else ""
    return f"{_mean(other)} against {_mean(base)} requests at once on average{times}"


def _ratio(above: float | None, below: float | None) -> float:
    return above / below if above and below else 1.0


def _mean(lane: Report) -> str:
    return f"{lane['batch']['mean']:.1f}"
