"""A simulated lane that is fed while it runs, and what is known of it in the terms of a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.lane import Lane
from kvtui.comparison.systems import Manager
from kvtui.frames.counters import CounterReader
from kvtui.frames.counts import Counters
from kvtui.frames.frame import Frame
from kvtui.live.numbers import UNKNOWN, Number, derived, simulated
from kvtui.live.reading import COUNTERS, Reading
from kvtui.live.report import SIMULATED
from kvtui.live.session import FAR_PS
from kvtui.live.tally import Tally
from kvtui.live.watch import RATES, Snapshot
from kvtui.live.whatif.feed import Feed
from kvtui.serving.growing import extend
from kvtui.units import seconds

SHOWN: Final = ("output_tokens_per_s", "requests_per_s")  # rates in a frame


class FedLane(Lane):
    """Never done: it stands still where nothing more is known."""

    def __init__(self, lane: Lane, feed: Feed, *, model: str, gpu: str) -> None:
        """`lane` is one that is not watched, of no requests, at its start."""
        info = replace(lane.info, subtitle=f"{SIMULATED} on {gpu}, {lane.info.subtitle}")
        super().__init__(lane.engine, cast(Manager, lane.engine.manager), info, lane.spec, watched=True)
        self._feed = feed
        self._model = model
        self._fed_ps = 0  # everything before is known to the engine
        self._reader = CounterReader(lane.engine)
        self._rates = _Rates()

    @property
    def done(self) -> bool:
        return False

    @property
    def next_ps(self) -> int:
        """When the next step starts; far away where it is not known what it will be."""
        told = self._feed.told
        if told.until_ps > self._fed_ps:
            extend(self.engine, told.workload, until_ps=told.until_ps)
            self._fed_ps = told.until_ps
        known = not self.engine.done and self.engine.next_ps < self._fed_ps
        return self.engine.next_ps if known else FAR_PS

    def step(self, limit: int = 1) -> bool:
        if self.next_ps < FAR_PS:
            self.engine.step(limit)
        return True

    def catch_up(self) -> None:
        """As far as it is known how."""
        while self.next_ps < FAR_PS:
            self.engine.run()

    @property
    def stands_ps(self) -> int:
        """Everything before is done."""
        return max(self._fed_ps, self.engine.now_ps) if self.next_ps == FAR_PS else self.engine.now_ps

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        frame = super().frame(rows=rows, events=events)
        rates = self._rates.take(frame.counters, seconds(self.stands_ps))
        shown: dict[str, Any] = {name: rates[name].value for name in SHOWN}
        counters = frame.counters._replace(**shown)
        return replace(frame, done=False, counters=counters)

    def checkpoints(self) -> Checkpoints:
        """To go back with."""
        return Past(self, self._feed)

    def snapshot_at(self, now_ps: int) -> Snapshot:
        """What is known of it, beside servers that are seen as they were at `now_ps`."""
        stands_ps = min(self.stands_ps, now_ps)
        counters = self._reader.read()
        latency = {f"{name}_s": getattr(counters, name) for name in ("ttft", "tpot", "e2e")}
        return Snapshot(
            name=self.info.name,
            reading=self._reading(counters),
            time_s=seconds(stands_ps),
            totals={name: simulated(getattr(counters, name, None)) for name in COUNTERS},
            rates=self._rates.take(counters, seconds(self.stands_ps)),
            hit_rate=_hit_rate(counters),
            latency=latency,
            behind_s=seconds(now_ps - stands_ps),
        )

    def _reading(self, counters: Counters) -> Reading:
        info, split = self.info, counters.split
        return Reading(
            kind=SIMULATED,
            model=self._model,
            running=simulated(counters.running),
            waiting=simulated(counters.waiting),
            usage=simulated(max(1 - (split.free + split.cached + split.external) / 100, 0.0)),
            cached=simulated(split.cached / 100),
            blocks=simulated(info.blocks),
            block_size=simulated(info.block_size),
            pool_tokens=simulated(info.pool_tokens),
        )


class Past(Checkpoints):
    """Former states, as far back as the feed knows its requests whole."""

    def __init__(self, lane: FedLane, feed: Feed) -> None:
        self._feed = feed
        super().__init__(lane, shared=(Feed,))

    def note(self, lane: Lane) -> None:
        super().note(lane)
        self.forget(self._feed.kept_ps)


class _Rates:
    """How fast a lane is, over the last seconds of its own time."""

    def __init__(self) -> None:
        self._tallies = {name: Tally() for name in RATES.values()}
        self._time_s = -1.0

    def take(self, counters: Counters, time_s: float) -> dict[str, Number]:
        if time_s != self._time_s:
            self._time_s = time_s
            for name, tally in self._tallies.items():
                counted = getattr(counters, name, None)
                tally.take({} if counted is None else {"": counted}, time_s)
        rates = {rate: derived(self._tallies[name].rate) for rate, name in RATES.items()}
        return {rate: simulated(number.value) for rate, number in rates.items()}


def _hit_rate(counters: Counters) -> Number:
    asked = counters.query_tokens
    return simulated(counters.hit_tokens / asked) if asked else UNKNOWN
