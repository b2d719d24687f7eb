"""A server's KV events as a trace."""

from __future__ import annotations

import asyncio

from kvtui.live.kvevents import Batch
from kvtui.live.subscribe import Listener
from kvtui.live.traffic.derived.requests import Derivation, Derived
from kvtui.live.traffic.derived.rows import row_of
from kvtui.live.traffic.tracefile import TraceFile
from kvtui.traces.formats.native import DERIVED, KV_EVENTS


class KvEvents:
    """Writes requests as they are derived. Time counts from the first batch, by the server's clock."""

    def __init__(self, trace: TraceFile) -> None:
        self.derivation = Derivation(self._over)
        self.seen = 0  # batches
        self._trace = trace
        self._start_s: float | None = None

    def take(self, number: int, batch: Batch) -> None:
        if self._start_s is None:
            self._start_s = batch.time_s
        self.derivation.take(number, batch)
        self.seen += 1

    def gap(self) -> None:
        self.derivation.gap()

    def anew(self) -> None:
        self.derivation.anew()

    async def serve(
        self, endpoint: str, *, replay: str | None, topic: str, ready: asyncio.Future[int]
    ) -> None:
        """Until cancelled; begins with what the replay socket still has.

        Raises:
            ConfigError: the extra is not installed, or an endpoint makes no sense.
        """
        listener = Listener(endpoint, self, replay=replay, topic=topic)
        ready.set_result(0)
        try:
            await asyncio.Event().wait()
        finally:
            listener.close()
            batches = listener.batches
            self.finish(taken=batches.taken, lost=batches.lost, unreadable=batches.unreadable)

    def finish(self, *, taken: int, lost: int, unreadable: int) -> None:
        """No more will come: write the rest, and of how many batches all was derived."""
        self.derivation.end()
        self._begin()
        counts = {"batches": taken, "lost": lost, "unreadable": unreadable}
        self._trace.heard(counts | {"blocks_of_nobody": self.derivation.strangers})

    def _begin(self) -> None:
        size = self.derivation.block_size
        self._trace.begin({DERIVED: KV_EVENTS} | ({"unit": size} if size else {}))

    def _over(self, request: Derived) -> None:
        assert self._start_s is not None
        self._begin()
        size = self.derivation.block_size
        self._trace.add_row(row_of(request, block_size=size, start_s=self._start_s))
