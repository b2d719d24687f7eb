"""Passes requests on to a server and its answers back, and notes what a trace needs of them.

Bytes go on as they come, from callback to callback; what a trace needs is looked for afterwards.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from kvtui.live.traffic.asking import Parts
from kvtui.live.traffic.connections import Client
from kvtui.live.traffic.identity import Prefixes
from kvtui.live.traffic.listening import listening
from kvtui.live.traffic.notes import Note, Notes
from kvtui.live.traffic.packages import msgspec
from kvtui.live.traffic.requests import Request
from kvtui.live.traffic.tracefile import BEGAN, TraceFile
from kvtui.live.traffic.upstream import Upstream

ROOM: Final = 256 << 10  # bytes that are read at once


class Proxy:
    """One recording. `ask_usage`: streamed answers are asked to tell their usage, and the event with it is
    kept from clients that did not ask."""

    def __init__(
        self, upstream: str, trace: TraceFile, *, prefixes: Prefixes, ask_usage: bool = True
    ) -> None:
        self.upstream = Upstream(upstream)
        self.clients: set[Client] = set()
        self.room = memoryview(bytearray(ROOM))
        self._trace = trace
        self._notes = Notes(trace, prefixes=prefixes, ask_usage=ask_usage)

    def begin(self, request: Request) -> tuple[Parts, Note | None]:
        return self._notes.begin(request)

    async def serve(self, host: str, port: int, *, ready: asyncio.Future[int] | None = None) -> None:
        """Until cancelled. `ready` is told the port; the trace begins when there is one.

        Raises:
            ConfigError: the extra is not installed, or the port cannot be had.
        """
        msgspec()
        async with listening(lambda: Client(self), host, port) as found:
            self._trace.begin({BEGAN: round(time.time() - self._notes.now(), 6)})
            if ready is not None:
                ready.set_result(found)
            try:
                await asyncio.Event().wait()
            finally:
                for client in list(self.clients):
                    client.close()
                self._notes.close()
