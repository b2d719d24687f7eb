"""From trace columns to requests: each is made when it arrives, so a million rows stay columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, starmap
from typing import NamedTuple, TypeVar

import numpy as np

from kvtui.serving.request import Request
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_NS

Kind = TypeVar("Kind", bound=Request)

CHUNK = 4096  # rows turned into Python numbers at a time
KEY_BITS = 24  # of a block key that hold the block's number; the rest is the chain id


class Arrival(NamedTuple):
    number: int
    time: int  # ps
    prompt: int
    output: int
    priority: int


class Arrivals:
    """All rows in order of arrival, one after the other."""

    def __init__(self, workload: Workload, at: int = 0) -> None:
        self._workload = workload
        self._at = at  # of the next row
        self._chunk: Iterator[Arrival] = iter(())

    def next(self) -> Arrival | None:
        """The next row, None behind the last."""
        arrival = next(self._chunk, None)
        if arrival is None:
            self._chunk = self._read(self._at)
            arrival = next(self._chunk, None)
        self._at += arrival is not None
        return arrival

    def _read(self, start: int) -> Iterator[Arrival]:
        workload, part = self._workload, slice(start, start + CHUNK)
        times = [ns * PS_PER_NS for ns in workload.plain("arrival_ns")[part].tolist()]
        prompts = workload.plain("prompt")[part].tolist()
        outputs = workload.plain("output")[part].tolist()
        priorities = [0] * len(times) if workload.priority is None else workload.priority[part].tolist()
        rows = zip(count(start), times, prompts, outputs, priorities, strict=False)
        return starmap(Arrival, rows)

    def __reduce__(self) -> tuple[type[Arrivals], tuple[Workload, int]]:
        return Arrivals, (self._workload, self._at)


class BlockKeys:
    """Keys of the leading blocks that two requests of a workload (with prefix identity) can meet, for one
    block size. A key names the prefix up to the end of its block, and `ahead` tokens more. With `unmet`, also
    keys of blocks that nobody else has: others may be to come."""

    def __init__(self, workload: Workload, block_size: int, *, ahead: int = 0, unmet: bool = False) -> None:
        self._workload = workload
        self._block_size = block_size
        self._ahead = ahead
        self._reach = workload.identified
        if not unmet:
            self._reach = np.minimum(workload.shared_units * workload.unit, workload.identified)
        self._at = np.arange(max(self._blocks(int(self._reach.max(initial=0))), 0), dtype=np.int64)
        # Block i ends before token (i + 1) * size: the chain id of its last unit names the whole prefix.
        self._units = ((self._at + 1) * block_size + ahead - 1) // max(workload.unit, 1)

    def of(self, number: int) -> list[int]:
        """Keys of request `number`, one a block; empty where it shares nothing."""
        blocks = self._blocks(int(self._reach[number]))
        if blocks <= 0:
            return []
        workload = self._workload
        units = workload.chain[workload.chain_start[number] :][self._units[:blocks]]
        keys: list[int] = ((units << KEY_BITS) | self._at[:blocks]).tolist()
        return keys

    def _blocks(self, tokens: int) -> int:
        """How many blocks have a key, of so many tokens."""
        return (tokens - self._ahead) // self._block_size


def request_of(
    arrival: Arrival,
    keys: list[int],
    max_len: int,
    *,
    make: type[Kind] = Request,  # type: ignore[assignment]
) -> Kind:
    """The request as the server sees it: its output is cut at the maximum length."""
    return make(
        arrival.number,
        arrival.prompt,
        max(min(arrival.output, max_len - arrival.prompt), 0),
        arrival=arrival.time,
        priority=arrival.priority,
        keys=keys,
    )
