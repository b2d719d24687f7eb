"""What is known about one server over time: readings in, snapshots out. Time comes from the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kvtui.frames.counts import Percentiles
from kvtui.live.numbers import UNKNOWN, Number, Origin, derived
from kvtui.live.reading import COUNTERS, UNSEEN, Reading
from kvtui.live.tally import Process, Tally, percentiles_of

STALE_S: Final = 5.0  # for which a page may stay as it is while requests run
SKEW_S: Final = 2.0  # by which start times of one process may differ
MARKS: Final = 200
RATES: Final = {
    "output_tokens_per_s": "output_tokens",
    "prompt_tokens_per_s": "prompt_tokens",
    "requests_per_s": "finished",
}


class Mark(NamedTuple):
    """Something that happened to the server itself."""

    time_s: float
    what: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A server at one moment. `reading` is the last one that came; where `stale_s` is not None it is so old,
    for the reason in `problem`. Times count from the first look."""

    name: str
    reading: Reading
    time_s: float = 0.0
    stale_s: float | None = None
    problem: str = ""
    totals: Mapping[str, Number] = field(default_factory=dict)  # of COUNTERS, over restarts
    rates: Mapping[str, Number] = field(default_factory=dict)  # of RATES
    hit_rate: Number = UNKNOWN
    latency: Mapping[str, Percentiles] = field(default_factory=dict)  # of DURATIONS, since the server's start
    marks: tuple[Mark, ...] = ()
    restarts: int = 0
    notes: tuple[str, ...] = ()
    behind_s: float = 0.0  # of a lane that is simulated beside servers: how far it stands before them


class Watch:
    """Follows one server from its first reading on."""

    def __init__(self, name: str, reading: Reading, now: float) -> None:
        self._name = name
        self._start = self._seen = self._changed = now
        self._reading = reading
        self._tallies = {key: Tally() for key in COUNTERS}
        self._marks: list[Mark] = []
        self._restarts = 0
        self._problem = ""
        self._count(reading, now, Process.SAME)

    def take(self, reading: Reading, now: float) -> Snapshot:
        """The server answered."""
        before = self._reading
        if self._problem:
            self._mark(now, "answers" if before.kind == UNSEEN else "answers again")
        self._problem, self._seen, self._reading = "", now, reading
        if reading.mark == before.mark and _busy(reading):
            return self.snapshot(now)  # nothing new: what was known stays, until it is stale
        self._changed = now
        self._count(reading, now, self._process(reading, before, now))
        blocks = reading.blocks.value
        if None not in (blocks, before.blocks.value) and blocks != before.blocks.value:
            self._mark(now, f"memory is now {blocks:,.0f} blocks")
        return self.snapshot(now)

    def failed(self, problem: str, now: float) -> Snapshot:
        """The server did not answer, or not as it should."""
        if not self._problem:
            self._mark(now, problem)
        self._problem = problem
        return self.snapshot(now)

    def snapshot(self, now: float) -> Snapshot:
        """What is known now."""
        stale_s, problem = self._staleness(now)
        hit_rate, note = _hit_rate(self._reading)
        rates = dict.fromkeys(RATES, UNKNOWN) if stale_s is not None else self._rates()
        return Snapshot(
            name=self._name,
            reading=self._reading,
            time_s=now - self._start,
            stale_s=stale_s,
            problem=problem,
            totals=self._totals(),
            rates=rates,
            hit_rate=hit_rate,
            latency={key: percentiles_of(each) for key, each in self._reading.durations.items()},
            marks=tuple(self._marks),
            restarts=self._restarts,
            notes=(*self._reading.notes, *([note] if note else [])),
        )

    def _staleness(self, now: float) -> tuple[float | None, str]:
        if self._problem:
            return max(now - self._seen, 0.0), self._problem
        unchanged = now - self._changed
        if unchanged >= STALE_S and _busy(self._reading):
            return unchanged, "the page does not change although requests run"
        return None, ""

    def _process(self, reading: Reading, before: Reading, now: float) -> Process:
        """Who answers now, with a mark where it is not who answered before."""
        swapped = None not in (reading.model, before.model) and reading.model != before.model
        if swapped:
            self._mark(now, f"model is now {reading.model}")
        ages = reading.started, before.started
        if ages[0] is not None and ages[1] is not None and abs(ages[0] - ages[1]) > SKEW_S:
            if ages[0] < ages[1]:
                self._mark(now, "an older server answers at this address")
                return Process.OTHER
            return self._restarted(now)
        if any(self._tallies[key].fallen(series) for key, series in reading.counters.items()):
            process = self._restarted(now)
            return Process.SAME if len(reading.parts) > 1 else process  # engines restart on their own
        return Process.OTHER if swapped else Process.SAME

    def _restarted(self, now: float) -> Process:
        self._restarts += 1
        self._mark(now, "server restarted")
        return Process.ANEW

    def _count(self, reading: Reading, now: float, process: Process) -> None:
        for key, tally in self._tallies.items():
            tally.take(reading.counters.get(key, {}), now, process=process)

    def _totals(self) -> dict[str, Number]:
        origin = Origin.DERIVED if self._restarts else Origin.REPORTED
        return {
            key: UNKNOWN if tally.total is None else Number(tally.total, origin)
            for key, tally in self._tallies.items()
        }

    def _rates(self) -> dict[str, Number]:
        rates = {key: derived(self._tallies[counter].rate) for key, counter in RATES.items()}
        if rates["output_tokens_per_s"] == UNKNOWN:
            rates["output_tokens_per_s"] = self._reading.output_tokens_per_s
        return rates

    def _mark(self, now: float, what: str) -> None:
        self._marks = [*self._marks[1 - MARKS :], Mark(now - self._start, what)]


def _busy(reading: Reading) -> bool:
    return bool(reading.running.value)


def _hit_rate(reading: Reading) -> tuple[Number, str]:
    """Tokens found out of tokens looked up since the server's start, and a warning where that cannot be."""
    if reading.hit_rate != UNKNOWN:
        return reading.hit_rate, ""
    hits, queries = (reading.counters.get(key) for key in ("hit_tokens", "query_tokens"))
    if hits is None or queries is None:
        return UNKNOWN, ""
    found, asked = sum(hits.values()), sum(queries.values())
    if found > asked:
        return UNKNOWN, f"the server counts {found:,.0f} prefix hits in {asked:,.0f} tokens looked up"
    return derived(found / asked if asked else None), ""
