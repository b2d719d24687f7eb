"""Who comes next and who has to give way: first come first served, or by priority. The head of the waiting
queue blocks everyone behind it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from kvtui.serving.request import Request

Rank = tuple[int, int, int]


class FcfsQueue(deque[Request]):
    """First come, first served; a preempted request returns to the front."""

    add = deque.append
    put_back = deque.appendleft  # a preempted request
    take = deque.popleft

    def head(self) -> Request:
        return self[0]

    def first(self, n: int | None = None) -> Iterator[Request]:
        """The first `n` in the order they will be admitted."""
        return islice(self, n)


class PriorityQueue:
    """Smallest (priority, rank, tie) first, preempted or not."""

    def __init__(self) -> None:
        self._heap: list[tuple[Rank, Request]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, request: Request) -> None:
        heapq.heappush(self._heap, (_rank(request), request))

    put_back = add

    def head(self) -> Request:
        return self._heap[0][1]

    def take(self) -> Request:
        return heapq.heappop(self._heap)[1]

    def remove(self, request: Request) -> None:
        self._heap.remove((_rank(request), request))
        heapq.heapify(self._heap)

    def first(self, n: int | None = None) -> Iterator[Request]:
        """The first `n` in the order they will be admitted."""
        return iter([r for _, r in sorted(self._heap)]) if n is None else islice(self._in_order(), n)

    def _in_order(self) -> Iterator[Request]:
        """At a price that hardly depends on how many wait: in a heap nobody comes before his parent."""
        heap = self._heap
        coming = [(entry, 0) for entry in heap[:1]]
        while coming:
            (_, request), at = heapq.heappop(coming)
            yield request
            for child in range(2 * at + 1, min(2 * at + 3, len(heap))):
                heapq.heappush(coming, (heap[child], child))


WaitingQueue = FcfsQueue | PriorityQueue


def queue_for(policy: str) -> WaitingQueue:
    """An empty queue of the policy."""
    return PriorityQueue() if policy == "priority" else FcfsQueue()


def victim_of(policy: str, batch: Sequence[Request]) -> int:
    """Place of the running request that has to go: the youngest admission, or the least urgent and latest."""
    if policy == "fcfs":
        return len(batch) - 1
    return max(range(len(batch)), key=lambda i: (batch[i].priority, batch[i].rank, -i))


def _rank(request: Request) -> Rank:
    return request.priority, request.rank, request.tie
