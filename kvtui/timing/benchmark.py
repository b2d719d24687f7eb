"""A benchmark with a constant number of clients, each of which sends its next request when one is answered.

That is how published time-per-token tables are measured. One server, first come first served, without the
memory manager, so that thousands of rows are predicted in seconds. Requests beyond what the KV pool holds
wait.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from kvtui.serving.cost import CostModel
from kvtui.units import seconds

ROUNDS = 10  # requests a client sends: the first all at once, as the benchmarks do
_GOLDEN, _PLASTIC = 0.6180339887498949, 0.7548776662466927  # multiples of these fill 0 to 1 evenly
PATIENCE = 20_000  # requests simulated at most


class Load(NamedTuple):
    """Clients that ask for `output` tokens on `prompt` tokens at most.

    Lengths are drawn evenly from `shortest` to 1 of these, always the same ones.
    """

    clients: int
    prompt: int
    output: int
    shortest: float = 1.0


class Batching(NamedTuple):
    """How a server puts prompts into steps of `budget` tokens."""

    budget: int
    parted: bool = True  # a prompt may be computed in several steps
    beside: bool = True  # decodes go on in steps with prompts; else they wait until there are none


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
    cost: CostModel, load: Load, batching: Batching, *, way: int = 0, pool_tokens: int | None = None
) -> Latency:
    """Mean latencies of a load. `way` is the time in ps from a client to the queue of the server and back."""
    total = min(load.clients * ROUNDS, max(PATIENCE, load.clients))

    def request(number: int, now: int) -> _Client:
        prompt = _length(load.prompt, load.shortest, number * _GOLDEN)
        return _Client(now, prompt, _length(load.output, load.shortest, number * _PLASTIC))

    server = _Server(cost, batching, way, pool_tokens)
    server.coming.extend(request(number, 0) for number in range(load.clients))
    sent = load.clients
    while server.done < total:
        server.step()
        for _ in range(min(server.leave(), total - sent)):
            server.coming.append(request(sent, server.now))
            sent += 1
    return Latency(seconds(server.ttft) / total, seconds(server.tpot) / max(server.several, 1))


def _length(longest: int, shortest: float, place: float) -> int:
    """From `shortest` to 1 of the longest, by the part of `place` after the point."""
    return max(round(longest * (shortest + (1 - shortest) * (place % 1))), 1)


class _Server:
    """Prompts in steps as `Batching` says, first come first served. Sums are picoseconds."""

    def __init__(self, cost: CostModel, batching: Batching, way: int, pool_tokens: int | None) -> None:
        self.now = self.done = self.ttft = self.tpot = self.several = 0
        self.coming: deque[_Client] = deque()  # on their way, and those that the pool has no room for
        self._cost = cost
        self._batching = batching
        self._way = way
        self._pool = pool_tokens
        self._prefilling: deque[_Client] = deque()
        self._running: list[tuple[int, int, _Client]] = []  # (decode step of the last token, number, request)
        self._decoded = self._context = self._held = self._number = 0

    def step(self) -> None:
        """One step, or all up to the next end or arrival where nothing waits for its prompt."""
        if not self._prefilling and not self._running:
            self.now = max(self.now, self.coming[0].arrival + self._way)
        self._admit()
        decodes = len(self._running) if self._batching.beside or not self._prefilling else 0
        tokens, pairs, ready = _chunks(self._prefilling, self._batching, decodes)
        context = self._context + decodes
        steps = 1 if self._prefilling or tokens else self._leap(decodes, context)
        if tokens:
            self.now += self._cost.step(decodes, context if decodes else 0, tokens, pairs)
        else:
            self.now += self._cost.leap(decodes, context, steps)
        if decodes:
            self._decoded += steps
            self._context += decodes * steps
        for client in ready:
            self._begin(client)

    def _leap(self, decodes: int, context: int) -> int:
        steps = self._running[0][0] - self._decoded
        if self.coming:
            left = self.coming[0].arrival + self._way - self.now
            if left > 0:
                steps = min(steps, 1 + left // self._cost.leap(decodes, context, 1))
        return steps

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
        while self.coming and self.coming[0].arrival + self._way <= self.now:
            needed = self.coming[0].prompt + self.coming[0].output
            if self._held and self._pool is not None and self._held + needed > self._pool:
                return
            self._held += needed
            self._prefilling.append(self.coming.popleft())

    def _begin(self, client: _Client) -> None:
        """The first token of a request appeared."""
        client.first = self.now
        self.ttft += self.now - client.arrival
        self._number += 1
        self._context += client.prompt
        heappush(self._running, (self._decoded + client.output - 1, self._number, client))


def _chunks(prefilling: deque[_Client], batching: Batching, decodes: int) -> tuple[int, int, list[_Client]]:
    """Compute what fits of the prompts: tokens, (query, key) pairs, and the requests that are through."""
    tokens = pairs = 0
    ready = []
    room = max(batching.budget - decodes, 1)
    while prefilling and tokens < room:
        client = prefilling[0]
        chunk = client.prompt - client.computed
        if chunk > room - tokens:
            if batching.parted:
                chunk = room - tokens
            elif tokens:
                break
        pairs += chunk * client.computed + chunk * (chunk + 1) // 2
        tokens += chunk
        client.computed += chunk
        if client.computed == client.prompt:
            ready.append(prefilling.popleft())
    return tokens, pairs, ready
