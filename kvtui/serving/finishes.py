"""When decodes finish: known as soon as they start, since each stores one token a step."""

from __future__ import annotations

from heapq import heappop, heappush

from kvtui.serving.request import Request


class Finishes:
    """Decodes by the step in which they finish. Who is delayed or leaves the batch leaves a stale entry
    behind, skipped later: order or finish are no longer those of the request."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Request]] = []

    def add(self, request: Request) -> None:
        """The request decodes from now on, or was delayed."""
        heappush(self._heap, (request.finish, request.order, request))

    def first(self) -> int:
        """The step in which the next one finishes; somebody must decode."""
        while True:
            finish, order, request = self._heap[0]
            if request.order == order and request.finish == finish:
                return finish
            heappop(self._heap)

    def take(self, last: int) -> list[Request]:
        """Take out those that finish in step `last` or before."""
        heap, taken = self._heap, []
        while heap and heap[0][0] <= last:
            finish, order, request = heappop(heap)
            if request.order == order and request.finish == finish:
                taken.append(request)
        return taken
