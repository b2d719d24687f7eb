"""Asks servers again and again: the only place of `live` that knows the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kvtui.errors import KvtuiError
from kvtui.live.fetch import TIMEOUT_S, Client, FetchError
from kvtui.live.reading import UNSEEN, Reading
from kvtui.live.servers import Server, detect
from kvtui.live.servers.llamacpp import LlamaCppServer
from kvtui.live.watch import Snapshot, Watch

INTERVAL_S: Final = 0.5
LONGEST_S: Final = 30.0  # between two attempts, however often it failed


def now_s() -> float:
    """Seconds that count on while the machine sleeps, where the system has such a clock: a rate over a night
    is not one over a second. No setting of the time of day moves it."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Poller:
    """One server. `look` asks it when that is due; after failures less and less often. With `down` it is not
    asked at once: that is why it cannot be."""

    def __init__(
        self,
        name: str,
        server: Server,
        *,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = now_s,
        down: str = "",
    ) -> None:
        self.name = name
        self._server = server
        self.interval_s = interval_s
        self._clock = clock
        self._failures = int(bool(down))
        reading = Reading(kind=UNSEEN) if down else server.read()
        self._watch = Watch(name, reading, clock())
        self._due = clock() + interval_s
        self.last = self._watch.failed(down, clock()) if down else self._watch.snapshot(clock())

    @property
    def wait_s(self) -> float:
        """Until the next look is due."""
        return max(0.0, self._due - self._clock())

    def look(self) -> Snapshot:
        """Ask the server if it is time to, and tell what is known. Blocks for a time-out at most."""
        if self._clock() < self._due:
            self.last = self._watch.snapshot(self._clock())
            return self.last
        try:
            reading = self._server.read()
            self.last = self._watch.take(reading, self._clock())
            self._failures = 0
        except Exception as error:  # whatever a server sends: what is shown must not freeze and look fresh
            self._failures += 1
            self.last = self._watch.failed(_words(error), self._clock())
        self._due = self._clock() + min(LONGEST_S, self.interval_s * 2**self._failures)
        return self.last


def _words(error: Exception) -> str:
    if isinstance(error, KvtuiError):
        return error.message
    return f"its answer cannot be understood ({type(error).__name__}: {error})"


class Expected:
    """A server at an address: of which kind turns out when it answers. `split` says of llama.cpp whether each
    slot has memory of its own."""

    def __init__(self, client: Client, *, split: bool | None = None) -> None:
        self._client = client
        self._split = split
        self._server: Server | None = None

    def read(self) -> Reading:
        if self._server is None:
            self._server = detect(self._client)
            if isinstance(self._server, LlamaCppServer):
                self._server.split = self._split
        return self._server.read()


def attach(
    url: str,
    *,
    interval_s: float = INTERVAL_S,
    timeout_s: float = TIMEOUT_S,
    split: bool | None = None,
    patient: bool = False,
) -> Poller:
    """Read what answers at an address once; a KvtuiError where that is nothing known. A `patient` one may be
    down, and is asked again and again."""
    client = Client(url, timeout_s=timeout_s)
    server = Expected(client, split=split)
    try:
        return Poller(client.name, server, interval_s=interval_s)
    except FetchError as error:
        if not patient or error.status in (401, 403):
            raise
        return Poller(client.name, server, interval_s=interval_s, down=error.message)
