"""Limits that requests are to keep, and how many have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from kvtui.serving.engine import Engine
from kvtui.terms import E2E, TPOT, TTFT
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_NS, PS_PER_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

Times: TypeAlias = "NDArray[np.int64]"  # ps


@dataclass(frozen=True, slots=True)
class Slo:
    """What a request must keep to count as good, in seconds; None = anything will do."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    @property
    def text(self) -> str:
        """`TTFT 2 s, TPOT 50 ms`; empty without a limit."""
        limits = (
            (TTFT.name, self.ttft_s),
            (TPOT.name, self.tpot_s),
            (E2E.name, self.e2e_s),
        )
        return ", ".join(f"{what} {_time(limit)}" for what, limit in limits if limit is not None)

    def kept(
        self, arrival: Times, first: Times, finish: Times, output: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Which requests have kept every limit, of such that have finished."""
        good = np.ones(len(finish), np.bool_)
        if self.ttft_s is not None:
            good &= first - arrival <= self.ttft_s * PS_PER_S
        if self.e2e_s is not None:
            good &= finish - arrival <= self.e2e_s * PS_PER_S
        if self.tpot_s is not None:
            good &= finish - first <= self.tpot_s * PS_PER_S * np.maximum(output - 1, 1)
        return good

    def broken(self, arrival: Times, first: Times, now: int) -> NDArray[np.bool_]:
        """Which requests can no longer keep a limit, being under way; `first` < 0 = no token yet."""
        late = np.zeros(len(first), np.bool_)
        if self.ttft_s is not None:
            late |= np.where(first < 0, now, first) - arrival > self.ttft_s * PS_PER_S
        if self.e2e_s is not None:
            late |= now - arrival > self.e2e_s * PS_PER_S
        return late


NO_LIMITS: Final = Slo()


class GoodCount:
    """Counts the good requests of one engine; a look costs what is under way and what has ended since."""

    def __init__(self, engine: Engine, slo: Slo) -> None:
        self._engine = engine
        self._slo = slo
        self._seen = 0  # requests looked at
        if slo != NO_LIMITS:
            self._open = np.zeros(0, np.int64)  # of these, those that had not finished
        self._good = 0
        self.broken = 0  # limits, by requests under way when it was last read, where all arrive by the trace

    def read(self) -> int | None:
        """Requests that have finished so far and kept every limit; not known where clients send one after
        the other, as nobody notes when."""
        engine, workload = self._engine, self._engine.workload
        if self._slo == NO_LIMITS:
            return engine.results.finished
        if workload.clients:
            return None
        seen = len(workload) if workload.closed else engine.known  # in a closed loop they come in any order
        waiting = np.concatenate([self._open, np.arange(self._seen, seen)])
        finish = np.frombuffer(engine.results.finish, np.int64)
        first = np.frombuffer(engine.results.first_token, np.int64)
        done = finish[waiting] >= 0
        ended, going = waiting[done], waiting[~done]
        if len(ended):
            kept = self._slo.kept(
                _sent(workload, finish, ended), first[ended], finish[ended], workload.output[ended]
            )
            self._good += int(kept.sum())
        if not workload.closed:
            gone = [*engine.results.refusals, *engine.results.aborted]
            going = going[~np.isin(going, gone)] if gone else going
            late = self._slo.broken(_sent(workload, finish, going), first[going], engine.now_ps)
            self.broken = int(late.sum())
        self._seen, self._open = seen, going
        return self._good


def _sent(workload: Workload, finish: Times, ended: NDArray[np.int64]) -> Times:
    """When each of those that ended was sent: where it follows another, some time after the end of that."""
    if not workload.closed or workload.follows is None or workload.waits_ns is None:
        at: Times = workload.arrival_ns[ended] * PS_PER_NS
        return at
    sent = workload.arrival_ns * PS_PER_NS
    before, waits = workload.follows, workload.waits_ns * PS_PER_NS
    while True:  # a refused one has ended when it was sent
        after = np.where(before >= 0, np.where(finish >= 0, finish, sent)[before] + waits, sent)
        if np.array_equal(after, sent):
            return sent[ended]
        sent = after


def _time(seconds: float) -> str:
    return f"{1000 * seconds:g} ms" if seconds < 1 else f"{seconds:g} s"
