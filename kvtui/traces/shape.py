"""A workload as the user wants it: arrivals made, scaled or cut to a window, requests sampled or shuffled."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from kvtui.errors import ConfigError
from kvtui.traces.closing import closed_by
from kvtui.traces.draft import NO_TIMES
from kvtui.traces.leftout import rows as counted
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Ints, Workload

Floats = NDArray[np.float64]

_LATEST = 2**62  # ns


@dataclass(frozen=True, slots=True)
class Shape:
    """What to do with a workload that was read, in this order; None leaves it as it is.

    rate: requests a second in place of recorded arrivals, evenly spaced, or with gaps of a gamma
    distribution of shape `burstiness` (1 = Poisson; below, burstier). start_s and duration_s: a window of
    the trace. max_gap_s: longer gaps between arrivals are cut to this. sample: a share of the requests, drawn
    at random. scale_rate: how many times faster they arrive. shuffle_seed: requests trade places, arrivals
    stay. turns, think_s and clients close the loop (see `closed_by`). `seed` is that of gaps and sampling.
    """

    rate: float | None = None
    burstiness: float | None = None
    start_s: float | None = None
    duration_s: float | None = None
    max_gap_s: float | None = None
    sample: float | None = None
    scale_rate: float | None = None
    shuffle_seed: int | None = None
    turns: str | None = None
    think_s: float | None = None
    clients: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Raises ConfigError for values that make no sense."""
        for option in ("rate", "burstiness", "duration_s", "max_gap_s", "sample", "scale_rate"):
            value = getattr(self, option)
            if value is not None and not 0 < value < float("inf"):
                raise _wrong(option, value, "a number above 0")
        for option in ("start_s", "duration_s", "max_gap_s", "think_s"):
            value = getattr(self, option)
            if value is not None and not 0 <= value * S <= _LATEST:
                raise _wrong(option, value, "a number of seconds, less than a century")
        if self.sample is not None and self.sample > 1:
            raise _wrong("sample", self.sample, "a share above 0 and at most 1")
        if self.clients is not None and self.clients < 1:
            raise ConfigError(f"{self.clients} clients send nothing.", hint="give 1 or more")
        if self.clients is not None and self.rate is not None:
            hint = "leave one out: a client sends its next request when its last one has ended"
            raise ConfigError("a number of clients and a rate do not go together.", hint=hint)
        if self.burstiness is not None and self.rate is None:
            raise ConfigError("burstiness needs a rate.", hint="give --rate too, in requests a second")

    @property
    def needs_all(self) -> bool:
        """Whether which requests are used depends on more than their place in the file."""
        unlike = {field.name for field in fields(self) if getattr(self, field.name) != field.default}
        return bool(unlike - {"rate", "burstiness", "scale_rate", "turns", "think_s", "clients", "seed"})


def _wrong(option: str, value: float, right: str) -> ConfigError:
    name = option.removesuffix("_s").replace("_", " ")
    return ConfigError(f"the {name} of a trace cannot be {value:g}.", hint=f"give {right}")


@np.errstate(over="ignore", invalid="ignore")  # too far in the future is said below
def shaped(workload: Workload, shape: Shape) -> Workload:
    """The workload as `shape` says, with a sentence in `assumed` for everything done to it.

    Raises ConfigError where no request is left, or where arrivals would lie centuries ahead.
    """
    said: list[str] = []
    if shape.rate is not None:
        workload = _spaced(workload, shape, said)
    if shape.start_s is not None or shape.duration_s is not None:
        workload = _window(workload, shape, said)
    if shape.max_gap_s is not None:
        workload = _without_gaps(workload, shape.max_gap_s, said)
    if shape.sample is not None:
        workload = _sampled(workload, shape, said)
    if shape.scale_rate is not None:
        said.append(f"requests arrive {shape.scale_rate:g} times as fast, as asked")
        waits = None if workload.waits_ns is None else _sooner(workload.waits_ns, shape.scale_rate)
        workload = replace(workload, arrival_ns=_ns(workload.arrival_ns / shape.scale_rate), waits_ns=waits)
    if shape.shuffle_seed is not None:
        said.append(f"requests shuffled over the arrivals (seed {shape.shuffle_seed}), as asked")
        places = np.argsort(_uniform(len(workload), shape.shuffle_seed), kind="stable")
        workload = workload.take(places, workload.arrival_ns)
    workload = closed_by(workload, said, turns=shape.turns, think_s=shape.think_s, clients=shape.clients or 0)
    return replace(workload, assumed=(*workload.assumed, *said)) if said else workload


def _spaced(workload: Workload, shape: Shape, said: list[str]) -> Workload:
    assert shape.rate is not None
    how = "evenly spaced"
    if shape.burstiness is not None:
        kind = "Poisson" if shape.burstiness == 1 else f"gamma (burstiness {shape.burstiness:g})"
        how = f"{kind}, seed {shape.seed}"
    instead = " in place of the recorded ones" if workload.timed else ""
    said.append(f"arrivals made{instead}: {shape.rate:g} a second, {how}")
    before = tuple(sentence for sentence in workload.assumed if sentence != NO_TIMES)
    times = _ns(_arrivals(len(workload), shape))
    return replace(workload, arrival_ns=times, timed=True, origin_ns=0, assumed=before)


def _arrivals(count: int, shape: Shape) -> Floats:
    """Nanoseconds from 0, mean gap 1/rate. Gaps come from uniform numbers, the same on every machine."""
    assert shape.rate is not None
    if shape.burstiness is None:
        return np.arange(count, dtype=np.float64) * (S / shape.rate)
    gaps: Floats
    if shape.burstiness == 1:
        gaps = -np.log1p(-_uniform(count, shape.seed))
    else:
        random, alpha = Random(shape.seed), shape.burstiness
        gaps = np.array([random.gammavariate(alpha, 1 / alpha) for _ in range(count)])
    gaps[:1] = 0
    return np.asarray(np.cumsum(gaps) * (S / shape.rate), np.float64)


def _uniform(count: int, seed: int) -> Floats:
    return np.random.Generator(np.random.PCG64(abs(seed))).random(count)


def _ns(times: Floats) -> Ints:
    if len(times) and not times[-1] <= _LATEST:  # not a number: 0 times infinity
        raise ConfigError(
            "the last request would arrive centuries after the first.", hint="ask for a higher rate"
        )
    return np.rint(times).astype(np.int64)


def _sooner(waits_ns: Ints, rate: float) -> Ints:
    return np.where(waits_ns < 0, waits_ns, np.rint(waits_ns / rate)).astype(np.int64)


def _window(workload: Workload, shape: Shape, said: list[str]) -> Workload:
    begin = round((shape.start_s or 0) * S)
    end = begin + round(shape.duration_s * S) if shape.duration_s is not None else _LATEST
    inside = slice(*np.searchsorted(workload.arrival_ns, (begin, end)))
    rows = np.arange(len(workload))[inside]
    if not len(rows):
        hint = f"the trace spans {workload.span_s:,.3f} s"
        raise ConfigError("no request arrives in this window of the trace.", hint=hint)
    until = "its end" if shape.duration_s is None else f"{end / S:,.10g} s"
    said.append(
        f"only what arrives from {begin / S:,.10g} s to {until}, as asked: {counted(len(rows), 'request')}"
    )
    return workload.take(rows, workload.arrival_ns[inside])


def _without_gaps(workload: Workload, most_s: float, said: list[str]) -> Workload:
    gaps = np.diff(workload.arrival_ns)
    most = round(most_s * S)
    if cut := int((gaps > most).sum()):
        skipped = int((gaps - most)[gaps > most].sum())
        gone = f"{skipped / S:,.10g} s in all"
        said.append(f"{counted(cut, 'gap')} longer than {most_s:g} s jumped over: {gone}, as asked")
    times = np.concatenate(([0], np.cumsum(np.minimum(gaps, most))))
    return replace(workload, arrival_ns=times[: len(workload)])


def _sampled(workload: Workload, shape: Shape, said: list[str]) -> Workload:
    assert shape.sample is not None
    rows = np.flatnonzero(_uniform(len(workload), shape.seed) < shape.sample)
    if not len(rows):
        raise ConfigError("the sample holds no request.", hint="ask for a larger share of the trace")
    said.append(f"a sample of {shape.sample:g} of the requests (seed {shape.seed}), as asked: {len(rows):,}")
    return workload.take(rows, workload.arrival_ns[rows])


def cut(workload: Workload, *, skip: int, limit: int | None) -> Workload:
    """At most `limit` requests behind the first `skip`; raises ConfigError where none is left."""
    if not skip and (limit is None or limit >= len(workload)):
        return workload
    if skip >= len(workload):
        raise ConfigError(f"no request remains behind the first {skip:,}.", hint="skip fewer")
    rows = np.arange(skip, len(workload))[:limit]
    said = [f"the first {counted(skip, 'request')} skipped, as asked"] if skip else []
    if limit is not None and len(rows) == limit:
        said.append(f"nothing used behind {counted(limit, 'request')}, as asked")
    part = workload.take(rows, workload.arrival_ns[rows])
    return replace(part, assumed=(*part.assumed, *said))
