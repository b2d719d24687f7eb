"""A workload as columns: what a trace says about each request, and what was assumed to read it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kvtui.arithmetic import added, most

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.int64]"
Given: TypeAlias = "Ints | array[int] | bytes"  # 64-bit integers

NO_ROWS, ONE_ZERO = bytes(0), bytes(8)


class Column:
    """A column of a workload. One that was given as plain numbers stays so until somebody computes with it:
    short runs never do, and loading numpy takes longer than they."""

    def __init__(self, default: bytes | None = None) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, workload: object | None, owner: type) -> Ints:
        if workload is None:  # asked by `dataclass`
            if self._default is None:
                raise AttributeError(self._name)
            default: Any = self._default
            return default  # type: ignore[no-any-return]
        columns = vars(workload)
        if isinstance(columns[self._name], array | bytes):
            columns[self._name] = np.frombuffer(columns[self._name], np.int64)
        found: Ints = columns[self._name]
        return found

    def __set__(self, workload: object, column: Given) -> None:
        vars(workload)[self._name] = column


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that are not replayed: why, how many, and the first few line numbers (1-based)."""

    reason: str
    count: int
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Workload:
    """Requests in order of arrival, as columns of equal length.

    Prefix identity: request i's leading `identified[i]` tokens (prompt, and where the trace knows them
    also generated tokens) are cut in units of `unit` tokens (the last may be partial), and
    `chain[chain_start[i] : chain_start[i + 1]]` names them. An id stands for the *whole* prefix up to and
    including its unit, so two requests share that prefix exactly when they have the same id there. A trace
    without prefix identity has `unit == 0` and no chain.
    """

    name: str
    format: str
    arrival_ns: Column = Column()  # ascending, from 0
    prompt: Column = Column()  # tokens, history included
    output: Column = Column()  # tokens to generate; 0 = prefill only
    line: Column = Column()  # source line, 1-based; 0 = made by a generator
    priority: Ints | None = None  # smaller is more urgent
    samples: Ints | None = None  # sequences sampled from each prompt; None = one
    beams: Ints | None = None  # beam width, 0 = no beam search; None = nobody searches
    unit: int = 0
    chain: Column = Column(NO_ROWS)
    chain_start: Column = Column(ONE_ZERO)
    identified: Column = Column(NO_ROWS)
    left_out: tuple[LeftOut, ...] = ()
    assumed: tuple[str, ...] = ()  # sentences: units, block size, zone, order
    sha256: str = ""  # of the bytes read, or of the columns where they were generated
    max_len: int | None = None  # maximum length the workload is meant for, where it says so
    slots: int | None = None  # KV slots of the pool it is meant for, where it says so
    timed: bool = True  # whether arrivals are known, or made from a rate
    origin_ns: int = 0  # of the first arrival, on the clock of the trace
    estimated: bool = False  # whether tokens are estimated from text
    follows: Ints | None = None  # the request whose end comes before, as a place in these columns; -1 = none
    waits_ns: Ints | None = None  # from that end to this request, where `follows` names one; -1 = unknown
    closed: bool = False  # whether requests that follow one are sent by its end, not at their arrival
    clients: int = 0  # who send a conversation each and then the next, whatever the arrivals; 0 = nobody

    def __len__(self) -> int:
        return len(self.plain("arrival_ns"))

    def plain(self, name: str) -> memoryview[int]:
        """A column as plain numbers."""
        return memoryview(vars(self)[name])

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last."""
        arrival_ns = self.plain("arrival_ns")
        return float(arrival_ns[-1] - arrival_ns[0]) / 1e9 if len(self) else 0.0

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest request, prompt and answer; 0 without requests."""
        return most(added(self.plain("prompt"), self.plain("output")))

    @cached_property
    def shared_units(self) -> Ints:
        """How many leading units of each request at least two requests have in common."""
        counts = np.zeros(len(self), np.int64)
        if not self.unit or not len(self.chain):
            return counts
        _, inverse, times = np.unique(self.chain, return_inverse=True, return_counts=True)
        alone = np.concatenate(([0], np.cumsum(times[inverse] < 2)))
        # In a chain everything behind the first lonely unit is lonely too: count the units before it.
        length = np.diff(self.chain_start)
        lonely = alone[self.chain_start[1:]] - alone[self.chain_start[:-1]]
        return np.asarray(length - lonely, np.int64)

    def head(self, count: int) -> Workload:
        """The first `count` requests."""
        end = self.chain_start[min(count, len(self))] if self.unit else 0
        return replace(
            self,
            arrival_ns=self.arrival_ns[:count],
            prompt=self.prompt[:count],
            output=self.output[:count],
            line=self.line[:count],
            priority=None if self.priority is None else self.priority[:count],
            samples=None if self.samples is None else self.samples[:count],
            beams=None if self.beams is None else self.beams[:count],
            chain=self.chain[:end],
            chain_start=self.chain_start[: count + 1] if self.unit else self.chain_start,
            identified=self.identified[:count],
            follows=None if self.follows is None else self.follows[:count],
            waits_ns=None if self.waits_ns is None else self.waits_ns[:count],
        )

    def take(self, rows: Ints, arrival_ns: Ints) -> Workload:
        """The requests at places `rows`, in that order, arriving at `arrival_ns` (shifted to 0)."""
        first = int(arrival_ns[0]) if len(arrival_ns) else 0
        part = replace(
            self,
            arrival_ns=arrival_ns - first,
            prompt=self.prompt[rows],
            output=self.output[rows],
            line=self.line[rows],
            priority=None if self.priority is None else self.priority[rows],
            samples=None if self.samples is None else self.samples[rows],
            beams=None if self.beams is None else self.beams[rows],
            origin_ns=self.origin_ns + first,
            follows=self._followed(rows),
            waits_ns=None if self.waits_ns is None else self.waits_ns[rows],
        )
        if not self.unit:
            return part
        begin, length = self.chain_start[rows], np.diff(self.chain_start)[rows]
        start = np.concatenate(([0], np.cumsum(length)))
        chain = self.chain[np.repeat(begin - start[:-1], length) + np.arange(start[-1])]
        return replace(part, chain=chain, chain_start=start, identified=self.identified[rows])

    def _followed(self, rows: Ints) -> Ints | None:
        """`follows` for some rows: who follows a request that is gone follows none."""
        if self.follows is None:
            return None
        place = np.full(len(self) + 1, -1, np.int64)  # the last one stands for none
        place[rows] = np.arange(len(rows))
        return place[self.follows[rows]]
