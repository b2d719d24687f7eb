"""What became of the requests of a run, and when."""

from __future__ import annotations

from array import array

from kvtui.serving.request import Request


class Results:
    """What became of each request, by number, and the latencies in the order in which they became known."""

    def __init__(self, requests: int) -> None:
        self.first_token = array("q", [-1]) * requests  # ps; -1 = not (yet)
        self.finish = array("q", [-1]) * requests
        self.refusals: dict[int, tuple[int, int]] = {}  # number -> (needed, there are)
        self.aborted: set[int] = set()
        self.finished = 0
        self.ttft = array("q")  # ps from arrival to the first token
        self.e2e = array("q")  # ps from arrival to the last token
        self.tpot = array("d")  # ps a token after the first, of requests with two tokens and more

    def first(self, request: Request, now: int) -> None:
        """The first token of a request appeared."""
        self.first_token[request.number] = now
        self.ttft.append(now - request.arrival)

    def finish_one(self, request: Request, now: int) -> None:
        """The last token of a request appeared."""
        number = request.number
        self.finish[number] = now
        self.finished += 1
        self.e2e.append(now - request.arrival)
        if request.output > 1:
            self.tpot.append((now - self.first_token[number]) / (request.output - 1))
