"""A sequence of a request that has several."""

from __future__ import annotations

from kvtui.serving.request import Request


class GroupRequest(Request):
    """One sequence of a request with `width` of them. All have the number of the request; the first (sequence
    0) stands for all of them in queues and results, and has them as `siblings` once they are forked."""

    __slots__ = ("beams", "sequence", "siblings", "width")

    def __init__(
        self,
        number: int,
        prompt: int,
        output: int,
        *,
        arrival: int,
        priority: int,
        keys: list[int],
    ) -> None:
        super().__init__(number, prompt, output, arrival=arrival, priority=priority, keys=keys)
        self.width = 1
        self.beams = False
        self.sequence = 0
        self.siblings = ()

    def sibling(self, sequence: int) -> GroupRequest:
        """A further sequence, with all that this one has computed and generated."""
        other = GroupRequest(
            self.number, self.prompt, self.output, arrival=self.arrival, priority=self.priority, keys=[]
        )
        other.sequence, other.generated, other.computed = sequence, self.generated, self.computed
        return other
