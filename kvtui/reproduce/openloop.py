"""Times between tokens where prompts go first, or in chunks beside the decodes.

Two schedulers as in Sarathi-Serve's repository (branch osdi-sarathi-serve), without the memory manager: at
the rates compared latency binds, not memory. Whole prompts are vLLM's way of 2023: as long as somebody waits,
a step takes whole prompts and nobody decodes. In chunks is Sarathi-Serve's: all decodes, and of the prompts
what is left of a token budget.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from kvtui.serving.cost import CostModel
from kvtui.traces.workload import Ints, Workload
from kvtui.units import PS_PER_NS, seconds

SEATS = 128  # requests that run at once, in the paper's capacity runs


class Waits(NamedTuple):
    """Seconds: what most tokens stay below, and what half of the requests do."""

    tbt_p99: float  # from one token of an answer to the next
    start_median: float  # from arrival to the first step
    ttft_median: float  # from arrival to the first token


class _Prompt:
    """A request until its first token."""

    __slots__ = ("arrival", "computed", "output", "tokens")

    def __init__(self, arrival: int, tokens: int, output: int) -> None:
        self.arrival, self.tokens, self.output, self.computed = arrival, tokens, output, 0


def waits(workload: Workload, cost: CostModel, *, budget: int, chunked: bool, seats: int = SEATS) -> Waits:
    """A run of all requests. `budget` is the most tokens of a step: of prompts alone, or with the decodes."""
    server = _Server(workload, cost, budget, seats)
    while server.left:
        server.chunk() if chunked else server.whole()
    return Waits(
        seconds(server.tbt(0.99)),
        seconds(int(np.median(server.starts))),
        seconds(int(np.median(server.firsts))),
    )


class _Server:
    def __init__(self, workload: Workload, cost: CostModel, budget: int, seats: int) -> None:
        rows = zip(
            workload.arrival_ns.tolist(), workload.prompt.tolist(), workload.output.tolist(), strict=True
        )
        self._coming = deque(_Prompt(ns * PS_PER_NS, tokens, output) for ns, tokens, output in rows)
        self._cost, self._budget, self._seats = cost, budget, seats
        self._prefilling: deque[_Prompt] = deque()
        self._running: list[tuple[int, int]] = []  # decode step of the last token, tokens stored by then
        self._fresh: Counter[int] = (
            Counter()
        )  # since the last decode step: when first tokens came -> how many
        self._now = self._decoded = self._context = 0
        self._last = 0  # end of the last decode step
        self.left = len(workload)
        self._gaps: list[Ints] = []  # times between two tokens of an answer
        self._times: list[int] = []  # of each of these arrays, how many answers had them
        self.starts: list[int] = []
        self.firsts: list[int] = []

    def whole(self) -> None:
        """Whole prompts alone or, where none can start, one token for everybody."""
        self._wait()
        taken = list(self._admitted(self._budget))
        if taken:
            pairs = sum(p.tokens * (p.tokens + 1) // 2 for p in taken)
            self._now += self._cost.step(0, 0, sum(p.tokens for p in taken), pairs)
            for prompt in taken:
                self._begin(prompt)
        else:
            self._decode_on()

    def chunk(self) -> None:
        """One token for everybody, and of prompts what the budget leaves."""
        self._wait()
        tokens = pairs = 0
        through = []
        room = self._budget - len(self._running)
        while tokens < room and (self._prefilling or self._admit()):
            prompt = self._prefilling[0]
            part = min(prompt.tokens - prompt.computed, room - tokens)
            pairs += part * prompt.computed + part * (part + 1) // 2
            tokens += part
            prompt.computed += part
            if prompt.computed == prompt.tokens:
                through.append(self._prefilling.popleft())
        if tokens:
            self._decode(tokens, pairs)
        else:
            self._decode_on()
        for prompt in through:
            self._begin(prompt)

    def tbt(self, share: float) -> int:
        """The time between two tokens that `share` of all do not exceed."""
        values = np.concatenate(self._gaps)
        counts = np.repeat(self._times, [len(part) for part in self._gaps])
        order = np.argsort(values)
        seen = np.cumsum(counts[order])
        return int(values[order[np.searchsorted(seen, share * seen[-1])]])

    def _wait(self) -> None:
        """Until there is something to do."""
        if not (self._running or self._prefilling):
            self._now = max(self._now, self._coming[0].arrival)

    def _admit(self) -> bool:
        if not self._coming or self._coming[0].arrival > self._now:
            return False
        if len(self._running) + len(self._prefilling) >= self._seats:
            return False
        self.starts.append(self._now - self._coming[0].arrival)
        self._prefilling.append(self._coming.popleft())
        return True

    def _admitted(self, room: int) -> Iterator[_Prompt]:
        """Prompts that start now, whole ones, `room` tokens at most."""
        taken = 0
        while self._coming and self._coming[0].tokens <= room and len(self._running) + taken < self._seats:
            if not self._admit():
                return
            room -= self._prefilling[0].tokens
            taken += 1
            yield self._prefilling.popleft()

    def _begin(self, prompt: _Prompt) -> None:
        """The first token appeared."""
        self.firsts.append(self._now - prompt.arrival)
        if prompt.output <= 1:
            self.left -= 1
            return
        self._fresh[self._now] += 1
        self._context += prompt.tokens
        heappush(self._running, (self._decoded + prompt.output - 1, prompt.tokens + prompt.output - 1))

    def _decode(self, tokens: int, pairs: int) -> None:
        """One step with everybody who decodes."""
        decodes = len(self._running)
        self._context += decodes
        self._now += self._cost.step(decodes, self._context, tokens, pairs)
        if not decodes:
            return
        for first, count in self._fresh.items():
            self._waited(np.array([self._now - first]), count)
            decodes -= count
        self._waited(np.array([self._now - self._last]), decodes)
        self._fresh.clear()
        self._went(1)

    def _decode_on(self) -> None:
        """Steps of decodes alone, up to the next end or arrival."""
        if self._fresh or self._last != self._now:
            self._decode(0, 0)
            return
        decodes, steps = len(self._running), self._running[0][0] - self._decoded
        fixed = self._cost.leap(decodes, 0, 1)
        slope = self._cost.leap(decodes, 1, 1) - fixed
        times = fixed + slope * (self._context + decodes * np.arange(1, steps + 1))
        ends = np.cumsum(times)
        if self._coming and self._coming[0].arrival > self._now:
            times = times[: np.searchsorted(ends, self._coming[0].arrival - self._now) + 1]
        self._context += decodes * len(times)
        self._now += int(ends[len(times) - 1])
        self._waited(times, decodes)
        self._went(len(times))

    def _waited(self, gaps: Ints, answers: int) -> None:
        self._gaps.append(gaps)
        self._times.append(answers)

    def _went(self, steps: int) -> None:
        """So many decode steps are over."""
        self._decoded += steps
        self._last = self._now
        while self._running and self._running[0][0] <= self._decoded:
            self._context -= heappop(self._running)[1]
            self.left -= 1
