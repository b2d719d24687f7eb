"""What one look at a server gave, in the same terms for every kind of server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kvtui.live.numbers import UNKNOWN, Number, derived, reported
from kvtui.live.prometheus import Page, Sample

Series = Mapping[str, float]  # cumulative, by label set: engines restart on their own

COUNTERS = (  # what a server counts since its start
    "preemptions",
    "finished",
    "prompt_tokens",
    "output_tokens",
    "query_tokens",  # looked up in the prefix cache
    "hit_tokens",  # and found
)
UNSEEN = ""  # the kind of a server that has not answered yet
DURATIONS = ("ttft_s", "tpot_s", "e2e_s")


class Buckets(NamedTuple):
    """A histogram since the server's start: `counts[i]` observations are at most `bounds[i]`."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    total: float
    sum: float


class Slot(NamedTuple):
    """A sequence's place in a server that gives each a fixed one (llama.cpp)."""

    number: int
    tokens: int  # held for it now
    size: int  # slots of KV memory it may use
    busy: bool
    generated: int
    cached: int | None = None


class Part(NamedTuple):
    """One engine (data-parallel rank) of a server."""

    name: str
    running: float | None
    waiting: float | None
    usage: float | None


@dataclass(frozen=True, slots=True)
class Reading:
    """Shares are 0 to 1. `counters` and `durations` hold what a page had and nothing for what it had not."""

    kind: str
    model: str | None = None
    version: str | None = None
    running: Number = UNKNOWN
    waiting: Number = UNKNOWN
    usage: Number = UNKNOWN  # of KV memory, by requests that run
    cached: Number = UNKNOWN  # of KV memory, held for reuse only
    blocks: Number = UNKNOWN
    block_size: Number = UNKNOWN
    pool_tokens: Number = UNKNOWN
    max_running: Number = UNKNOWN
    max_len: int | None = None  # tokens of a request, prompt and answer
    hit_rate: Number = UNKNOWN  # only where a server reports one itself
    output_tokens_per_s: Number = UNKNOWN  # the same
    counters: Mapping[str, Series] = field(default_factory=dict)
    durations: Mapping[str, Buckets] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    slots: tuple[Slot, ...] = ()
    split_slots: bool | None = None  # whether each slot has memory of its own; None: nobody knows
    started: float | None = None  # when the process started, by the server's clock
    mark: int = 0  # of everything it said, to tell a new answer from an old one
    notes: tuple[str, ...] = ()


def counters_of(page: Page, names: Mapping[str, tuple[str, ...]]) -> dict[str, Series]:
    """The counters that a page has, under their names of `COUNTERS`."""
    return {key: series for key, known in names.items() if (series := _series(page.get(*known)))}


def _series(samples: Iterable[Sample]) -> Series:
    """By label set without the model's name: the same engine counts on when its model is exchanged."""
    series: dict[str, float] = {}
    for labels, value in samples:
        key = ",".join(f"{k}={v}" for k, v in sorted(labels.items()) if k != "model_name")
        series[key] = series.get(key, 0.0) + value
    return series


def durations_of(page: Page, names: Mapping[str, tuple[str, ...]]) -> dict[str, Buckets]:
    """The histograms that a page has, under their names of `DURATIONS`."""
    found = {key: _buckets(page, known) for key, known in names.items()}
    return {key: buckets for key, buckets in found.items() if buckets is not None}


def _buckets(page: Page, names: tuple[str, ...]) -> Buckets | None:
    """A histogram summed over its label sets; None where a part of it is missing."""
    name = next((name for name in names if f"{name}_bucket" in page), None)
    if name is None:
        return None
    counts: dict[float, float] = {}
    for labels, value in page.get(f"{name}_bucket"):
        bound = _bound(labels.get("le", ""))
        if bound is None:
            return None
        counts[bound] = counts.get(bound, 0.0) + value
    total, sum_ = page.sum(f"{name}_count"), page.sum(f"{name}_sum")
    if total is None or sum_ is None:
        return None
    bounds = tuple(sorted(counts))
    return Buckets(bounds, tuple(counts[bound] for bound in bounds), total, sum_)


def _bound(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parts_of(
    page: Page, label: str, *, running: tuple[str, ...], waiting: tuple[str, ...], usage: tuple[str, ...]
) -> tuple[Part, ...]:
    """The engines of a server; one that has a single label set is one engine."""
    columns = [_by_label(page.get(*names), label) for names in (running, waiting, usage)]
    names = sorted({name for column in columns for name in column}, key=lambda name: (len(name), name))
    return tuple(Part(name, *(column.get(name) for column in columns)) for name in names)


def _by_label(samples: Iterable[Sample], label: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for labels, value in samples:
        name = labels.get(label, "")
        values[name] = values.get(name, 0.0) + value
    return values


def summed(values: Iterable[float | None]) -> Number:
    """A count over engines: reported as long as all of them say it."""
    known = list(values)
    return reported(sum(v for v in known if v is not None)) if known and None not in known else UNKNOWN


def averaged(values: Iterable[float | None]) -> Number:
    """A share over engines of one size: reported by one, derived from several."""
    known = [value for value in values if value is not None]
    if len(known) == 1:
        return reported(known[0])
    return derived(sum(known) / len(known)) if known else UNKNOWN
