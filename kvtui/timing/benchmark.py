"""A benchmark with a constant number of clients, each of which sends its next request when one is answered.

That is how published time-per-token tables are measured. One server, first come first served, prompts in
chunks beside the decodes up to a token budget: decisions of vLLM without the memory manager, so that
thousands of rows are predicted in seconds. Requests beyond what the KV pool holds wait.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from kvtui.serving.cost import CostModel
from kvtui.units import seconds

ROUNDS = 6  # requests a client sends: the first all at once, as the benchmarks do
SPREAD = 0.8  # shortest length, of the longest
_GOLDEN, _PLASTIC = 0.6180339887498949, 0.7548776662466927  # multiples of these fill 0 to 1 evenly
PATIENCE = 20_000  # requests simulated at most


class Latency(NamedTuple):
    """Means over all requests, in seconds."""

    ttft: float
    tpot: float


@dataclass(slots=True)
class _Client:
    arrival: int
    prompt: int
    output: int
    computed: int = 0
    first: int = 0  # when its first token appeared


def closed_loop(
    cost: CostModel, *, clients: int, prompt: int, output: int, budget: int, pool_tokens: int | None = None
) -> Latency:
    """Mean latencies of `clients` that ask for `output` tokens on `prompt` tokens at most, within `budget`
    tokens a step. Lengths are drawn evenly from SPREAD to 1 of these, always the same ones."""
    total = min(clients * ROUNDS, max(PATIENCE, clients))

    def request(number: int, now: int) -> _Client:
        return _Client(now, _length(prompt, number * _GOLDEN), _length(output, number * _PLASTIC))

    server = _Server(cost, budget, pool_tokens)
    server.waiting.extend(request(number, 0) for number in range(clients))
    sent = clients
    while server.done < total:
        server.step()
        for _ in range(min(server.leave(), total - sent)):
            server.waiting.append(request(sent, server.now))
            sent += 1
    return Latency(seconds(server.ttft) / total, seconds(server.tpot) / max(server.several, 1))


def _length(longest: int, place: float) -> int:
    """From SPREAD to 1 of the longest, by the part of `place` after the point."""
    return max(round(longest * (SPREAD + (1 - SPREAD) * (place % 1))), 1)


class _Server:
    """Prompts in chunks beside decodes, first come first served. Sums are picoseconds."""

    def __init__(self, cost: CostModel, budget: int, pool_tokens: int | None) -> None:
        self.now = self.done = self.ttft = self.tpot = self.several = 0
        self.waiting: deque[_Client] = deque()
        self._cost = cost
        self._budget = budget
        self._pool = pool_tokens
        self._prefilling: deque[_Client] = deque()
        self._running: list[tuple[int, int, _Client]] = []  # (decode step of the last token, number, request)
        self._decoded = self._context = self._held = self._number = 0

    def step(self) -> None:
        """One step, or all up to the next end where nothing waits for its prompt."""
        self._admit()
        steps = 1 if self._prefilling else self._running[0][0] - self._decoded
        decodes = len(self._running)
        tokens, pairs, ready = _chunks(self._prefilling, self._budget - decodes)
        context = self._context + decodes
        if tokens:
            self.now += self._cost.step(decodes, context, tokens, pairs)
        else:
            self.now += self._cost.leap(decodes, context, steps)
        self._decoded += steps
        self._context += decodes * steps
        for client in ready:
            self._begin(client)

    def leave(self) -> int:
        """How many requests have had their last token."""
        before = self.done
        while self._running and self._running[0][0] <= self._decoded:
            client = heappop(self._running)[2]
            self._context -= client.prompt + client.output - 1
            self._held -= client.prompt + client.output
            self.done += 1
            if client.output > 1:
                self.tpot += (self.now - client.first) // (client.output - 1)
                self.several += 1
        return self.done - before

    def _admit(self) -> None:
        while self.waiting:
            needed = self.waiting[0].prompt + self.waiting[0].output
            if self._held and self._pool is not None and self._held + needed > self._pool:
                return
            self._held += needed
            self._prefilling.append(self.waiting.popleft())

    def _begin(self, client: _Client) -> None:
        """The first token of a request appeared."""
        client.first = self.now
        self.ttft += self.now - client.arrival
        self._number += 1
        self._context += client.prompt
        heappush(self._running, (self._decoded + client.output - 1, self._number, client))


def _chunks(prefilling: deque[_Client], budget: int) -> tuple[int, int, list[_Client]]:
    """Compute what fits of the prompts: tokens, (query, key) pairs, and the requests that are through."""
    tokens = pairs = 0
    ready = []
    room = max(budget, 1)
    while prefilling and tokens < room:
        client = prefilling[0]
        chunk = min(client.prompt - client.computed, room - tokens)
        pairs += chunk * client.computed + chunk * (chunk + 1) // 2
        tokens += chunk
        client.computed += chunk
        if client.computed == client.prompt:
            ready.append(prefilling.popleft())
    return tokens, pairs, ready
