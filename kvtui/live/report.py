"""A snapshot as data (a lane of the headless JSON, null where nothing is known) and as one line of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kvtui import __version__
from kvtui.answers.report import DIGITS, NO_DEVICE, SCHEMA
from kvtui.frames.counts import Percentiles
from kvtui.live.numbers import UNKNOWN, Number
from kvtui.live.reading import UNSEEN
from kvtui.live.watch import Snapshot
from kvtui.terms import FINISHED, HIT_RATE, PREEMPTED, RATE, TTFT

NA = "n/a"
SIMULATED = "simulated"  # the kind of a lane beside servers
BEHIND_S = 1.0  # from which on it is told


def summary(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """All servers, in the frame of a headless run."""
    return {
        "schema": SCHEMA,
        "kvtui": __version__,
        "trace": None,
        "config": {"time": "live"},
        "lanes": [lane(snapshot) for snapshot in snapshots],
        "verdict": "",
    }


def lane(snapshot: Snapshot) -> dict[str, Any]:
    """One server, or a lane that is simulated beside it. `origin` says of every known figure where it comes
    from."""
    reading, totals = snapshot.reading, snapshot.totals
    numbers = dict(_numbers(snapshot))
    simulated = reading.kind == SIMULATED
    return {
        "name": snapshot.name,
        "manager": None,
        "lane": snapshot.name if simulated else None,
        "backend": {"name": SIMULATED if simulated else "live"} | NO_DEVICE,
        "server": None if simulated else _server(snapshot),
        "behind_s": _round(snapshot.behind_s) if simulated else None,
        "requests": _group(numbers, "requests") | {"total": None, "rejected": None, "unfinished": None},
        "kv": _group(numbers, "kv"),
        "prefix": _group(numbers, "prefix"),
        "latency": {key: _percentiles(snapshot.latency.get(key)) for key in ("ttft_s", "tpot_s", "e2e_s")},
        "throughput": _group(numbers, "throughput"),
        "prompt_tokens": _whole(totals.get("prompt_tokens", UNKNOWN)),
        "output_tokens": _whole(totals.get("output_tokens", UNKNOWN)),
        "time_s": _round(snapshot.time_s),
        "slots": [slot._asdict() for slot in reading.slots] or None,
        "engines": [part._asdict() for part in reading.parts] or None,
        "marks": [mark._asdict() for mark in snapshot.marks],
        "notes": list(snapshot.notes),
        "origin": {key: number.origin.value for key, number in numbers.items() if number != UNKNOWN},
    }


def _server(snapshot: Snapshot) -> dict[str, Any]:
    reading = snapshot.reading
    return {
        "kind": reading.kind or None,
        "version": reading.version,
        "model": reading.model,
        "engines": len(reading.parts) or 1,
        "stale_s": _round(snapshot.stale_s),
        "problem": snapshot.problem or None,
        "restarts": snapshot.restarts,
    }


def _numbers(snapshot: Snapshot) -> Iterator[tuple[str, Number]]:
    """Every figure under its place in the JSON."""
    reading, totals, rates = snapshot.reading, snapshot.totals, snapshot.rates
    yield "requests.running", reading.running
    yield "requests.waiting", reading.waiting
    for key in ("finished", "preemptions"):
        yield f"requests.{key}", totals.get(key, UNKNOWN)
    for key in ("usage", "cached", "blocks", "block_size", "pool_tokens"):
        yield f"kv.{key}", getattr(reading, key)
    for key in ("query_tokens", "hit_tokens"):
        yield f"prefix.{key}", totals.get(key, UNKNOWN)
    yield "prefix.hit_rate", snapshot.hit_rate
    for key in ("output_tokens_per_s", "prompt_tokens_per_s", "requests_per_s"):
        yield f"throughput.{key}", rates.get(key, UNKNOWN)


def _group(numbers: dict[str, Number], group: str) -> dict[str, float | None]:
    cut = len(group) + 1
    return {key[cut:]: _whole(number) for key, number in numbers.items() if key.startswith(f"{group}.")}


def _whole(number: Number) -> float | None:
    """A count as a whole number."""
    value = number.value
    return int(value) if value is not None and value == int(value) else _round(value)


def _percentiles(values: Percentiles | None) -> dict[str, Any] | None:
    if values is None:
        return None
    return {key: v if isinstance(v, int) else _round(v) for key, v in values._asdict().items()}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def line(snapshot: Snapshot) -> str:
    """One line for a log or a terminal without a screen."""
    reading, totals = snapshot.reading, snapshot.totals
    ttft = snapshot.latency.get("ttft_s")
    pairs = (
        ("running", _count(reading.running)),
        ("waiting", _count(reading.waiting)),
        ("KV", _percent(reading.usage)),
        (RATE.name, _count(snapshot.rates.get("output_tokens_per_s", UNKNOWN))),
        (f"{TTFT.name} p50", NA if ttft is None or ttft.p50 is None else f"{ttft.p50:.3f} s"),
        (HIT_RATE.brief, _percent(snapshot.hit_rate)),
        (PREEMPTED.name, _count(totals.get("preemptions", UNKNOWN))),
        (FINISHED.name, _count(totals.get("finished", UNKNOWN))),
    )
    figures = "  ".join(f"{label} {value}" for label, value in pairs)
    return f"{figures}  {stale(snapshot)}".rstrip()


def stale(snapshot: Snapshot) -> str:
    """How old the figures are and why; nothing for fresh ones."""
    if snapshot.behind_s >= BEHIND_S:
        return f"{snapshot.behind_s:,.0f} s behind"
    if snapshot.stale_s is None:
        return ""
    if snapshot.reading.kind == UNSEEN:
        return f"down, no answer yet: {snapshot.problem}"
    return f"stale for {snapshot.stale_s:,.0f} s: {snapshot.problem}"


def _count(number: Number) -> str:
    return NA if number.value is None else f"{number.value:,.0f}"


def _percent(number: Number) -> str:
    return NA if number.value is None else f"{number.value:.1%}"
