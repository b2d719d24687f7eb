"""What is noted of the traffic that goes by. Whatever takes long is done a little at a time, that no stream
waits for it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from kvtui.live.traffic.answers import Plain, Stream
from kvtui.live.traffic.asking import Asked, Parts, asked, fields_of
from kvtui.live.traffic.identity import Prefixes
from kvtui.live.traffic.requests import Headers, Request, header
from kvtui.live.traffic.tracefile import Exchange, TraceFile

_SESSION: Final = (b"x-session-id", b"session-id", b"x-conversation-id")
_PART: Final = 32  # units of a prompt that are looked at in one go
_TURN_S: Final = 0.0002  # of such work
_PAUSE_S: Final = 0.001  # between two turns, in which others have the processor
HURRY: Final = 16 << 20  # bytes of prompts that wait to be looked at, from which on there is no pause
MOST: Final = 64 << 20  # and no more than these


class Note:
    """One request. It witnesses its answer."""

    def __init__(self, notes: Notes, request: Request, asked: Asked) -> None:
        self.exchange = Exchange(request.came_s - notes.start_s, [])
        self.exchange.aborted = True  # until it has ended
        self._notes = notes
        self._asked = asked
        self._answer: Plain | Stream = Plain()

    def begun(self, request: Request) -> None:
        """It was passed on: there is time to look at it."""
        self._notes.look_at(self, request)

    def head(self, status: int, headers: Headers) -> bool:
        self.exchange.status = status
        kind = header(headers, b"content-type") or b""
        streams = self._asked.streams and b"event-stream" in kind
        if streams:
            self._answer = Stream(hide_usage=self._asked.asks_usage)
        return streams and self._asked.asks_usage

    def take(self, data: bytes) -> bytes:
        passed = self._answer.take(data)
        if self._answer.began and self.exchange.first_s is None:
            self.exchange.first_s = self._notes.now()
        return passed

    def end(self) -> bytes:
        self.exchange.aborted = False
        return self._answer.end()

    def over(self) -> None:
        """It has ended, one way or another."""
        self.exchange.end_s = self._notes.now()
        self._notes.finish(self)

    def read(self) -> Exchange:
        """As it is written down."""
        self.exchange.usage, self.exchange.chunks = self._answer.usage, self._answer.chunks
        return self.exchange


class Notes:
    """Those of one recording."""

    def __init__(self, trace: TraceFile, *, prefixes: Prefixes, ask_usage: bool) -> None:
        self.start_s = time.monotonic()
        self._trace = trace
        self._prefixes = prefixes
        self._ask_usage = ask_usage
        self._work: deque[Iterator[None]] = deque()
        self._waiting = 0  # bytes of prompts
        self._turn: asyncio.TimerHandle | None = None  # the next one

    def now(self) -> float:
        return time.monotonic() - self.start_s

    def begin(self, request: Request) -> tuple[Parts, Note | None]:
        """The body as it is to be passed on; with a note if the request is to be recorded, to be told when it
        was (`begun`)."""
        found = asked(request, ask_usage=self._ask_usage)
        if found is None:
            return (request.body,), None
        return found.body, Note(self, request, found)

    def look_at(self, note: Note, request: Request) -> None:
        """Soon, a little at a time."""
        while self._work and self._waiting > MOST:
            self._step()  # rather slow than without bound
        self._waiting += len(request.body)
        asyncio.get_running_loop().call_soon(self._trace.open, note.exchange)
        self._later(self._read(note, request))

    def finish(self, note: Note) -> None:
        self._later(self._add(note))

    def close(self) -> None:
        """Do all that is left."""
        if self._turn is not None:
            self._turn.cancel()
        while self._work:
            self._step()

    def _read(self, note: Note, request: Request) -> Iterator[None]:
        with suppress(ValueError, RecursionError):  # of what cannot be read nothing is noted
            yield from self._identify(note, request)
        self._waiting -= len(request.body)

    def _identify(self, note: Note, request: Request) -> Iterator[None]:
        """Who asks, and for what."""
        fields = fields_of(request.body) or {}
        note.exchange.session = self._who(request.headers, fields)
        note.exchange.model = fields["model"] if isinstance(fields.get("model"), str) else None
        yield
        units = self._prefixes.units(fields)
        while part := list(islice(units, _PART)):
            note.exchange.ids += part
            yield

    def _add(self, note: Note) -> Iterator[None]:
        self._trace.add(note.read())
        yield

    def _who(self, headers: Headers, fields: dict[str, Any]) -> str | None:
        """Who belongs together, as a name that says nothing."""
        names = (value for name in _SESSION if (value := header(headers, name)) is not None)
        named = next((name.decode("utf-8", "replace") for name in names), None)
        named = named or fields.get("prompt_cache_key") or fields.get("user")
        return self._prefixes.secret(named) if isinstance(named, str) else None

    def _later(self, work: Iterator[None]) -> None:
        self._work.append(work)
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_later(_PAUSE_S, self._do)

    def _do(self) -> None:
        """A turn."""
        until_s = self.now() + _TURN_S
        while self._work and self.now() < until_s:
            self._step()
        pause_s = _PAUSE_S if self._waiting < HURRY else 0.0
        self._turn = asyncio.get_running_loop().call_later(pause_s, self._do) if self._work else None

    def _step(self) -> None:
        try:
            next(self._work[0])
        except StopIteration:
            self._work.popleft()
