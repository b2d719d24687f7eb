"""A client's connection and its own connection to the server: what comes in on one goes out on the other.

Both read into one buffer, which is emptied before anybody else reads: to make room anew for every read takes
several times as long as the read itself.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from http import HTTPStatus
from typing import Protocol, cast

from kvtui.live.traffic.asking import Parts
from kvtui.live.traffic.heads import CONTINUE, request_head, whole_answer
from kvtui.live.traffic.notes import Note
from kvtui.live.traffic.packages import httptools
from kvtui.live.traffic.passing import Answer
from kvtui.live.traffic.requests import Reader, Request
from kvtui.live.traffic.upstream import Upstream


class Passage(Protocol):
    """What connections share."""

    upstream: Upstream
    clients: set[Client]
    room: memoryview  # to read into

    def begin(self, request: Request) -> tuple[Parts, Note | None]: ...


class Server(asyncio.BufferedProtocol):
    """The connection to the server, for one client."""

    def __init__(self, client: Client, room: memoryview) -> None:
        self._client = client
        self._room = room
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    @property
    def open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        self._client.answered(self._room[:nbytes])

    def connection_lost(self, error: Exception | None) -> None:
        self._client.left(self)


class Client(asyncio.BufferedProtocol):
    """Requests of a client, one after the other as they came, each with its answer.

    A client that sends no more may be gone or still read. The server is told that nothing more comes, and
    does what it does without us: vLLM's uvicorn ends the request at that, others go on.
    """

    def __init__(self, passage: Passage) -> None:
        self._passage = passage
        self._reader = Reader()
        self._waiting: deque[tuple[Request, Parts, Note | None]] = deque()  # the first is being answered
        self._answer: Answer | None = None  # to it, once it was passed on
        self._server: Server | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._slow = False  # whether the client does not take what it gets
        self._ended = False  # whether the client sends no more

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are, and are not derived from it
        self._passage.clients.add(self)
        self._connect()  # while the request is on its way

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._passage.room

    def buffer_updated(self, nbytes: int) -> None:
        requests = self._reader.take(self._passage.room[:nbytes])
        new = [(request, *self._passage.begin(request)) for request in requests]
        self._waiting += new
        if len(self._waiting) > 1:
            self._transport.pause_reading()
        self._go_on()
        for request, _, note in new:  # which are on their way by now
            if note is not None:
                note.begun(request)

    def _go_on(self) -> None:
        """Pass on who is next, if there is somebody and the server is there."""
        if self._answer is not None or self._transport.is_closing():
            return
        if not self._waiting:
            self._listen()
            return
        if self._server is None or not self._server.open:
            self._connect()
            return
        assert self._server.transport is not None
        request, body, note = self._waiting[0]
        upstream = self._passage.upstream
        head = request_head(request, sum(map(len, body)), host=upstream.host, base=upstream.base)
        self._server.transport.writelines([head, *body])
        self._answer = Answer(request, note)
        self._pass_on_end()

    def eof_received(self) -> bool:
        """Whether the connection stays open."""
        secret = self._passage.upstream.secret  # TLS has no such end
        self._ended = bool(self._waiting) and not secret
        self._pass_on_end()
        return self._ended

    def _pass_on_end(self) -> None:
        if self._ended and self._answer is not None and len(self._waiting) == 1:
            assert self._server is not None
            assert self._server.transport is not None
            self._server.transport.write_eof()

    def _listen(self) -> None:
        """To what comes next, when everything was answered."""
        if refused := self._reader.refused:
            self._say_no(*refused)
            return
        self._transport.resume_reading()
        if self._reader.encourage:
            self._reader.encourage = False
            self._transport.write(CONTINUE)

    def answered(self, data: memoryview) -> None:
        """By the server."""
        if self._answer is None:
            self._hang_up()  # nobody had asked
            return
        tools = httptools()
        try:
            passed = self._answer.take(data)
        except (tools.HttpParserError, tools.HttpParserUpgrade):
            self._break_off("the server's answer is no HTTP")
            return
        if passed:
            self._transport.write(passed)
        if self._answer.whole:
            self._over()

    def _over(self) -> None:
        assert self._answer is not None
        answer, self._answer = self._answer, None
        request, _, note = self._waiting.popleft()
        if note is not None:
            note.over()
        if answer.last:
            self._hang_up()
        if not request.stays or (self._ended and not self._waiting):
            self._transport.close()
        self._go_on()

    def left(self, server: Server) -> None:
        """The server hung up."""
        if server is not self._server:
            return
        self._server = None
        last = None if self._answer is None else self._answer.broken()
        if last is not None:
            self._transport.write(last)
            self._over()
        elif self._answer is not None:
            self._break_off("the server hung up")

    def _break_off(self, why: str) -> None:
        """What has begun: nobody is to take half an answer for a whole one. Who has nothing yet is told."""
        assert self._answer is not None
        if self._answer.begun:
            self._transport.abort()
            return
        self._answer = None
        self._hang_up()
        self._no_answer(why)

    def connection_lost(self, error: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        """End both connections, and with them what was asked."""
        self._passage.clients.discard(self)
        self._transport.abort()
        self._hang_up()
        self._answer = None
        while self._waiting:
            *_, note = self._waiting.popleft()
            if note is not None:
                note.over()

    def _hang_up(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        server, self._server = self._server, None
        if server is not None and server.transport is not None:
            server.transport.abort()

    # To the server.

    def _connect(self) -> None:
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._reach())

    async def _reach(self) -> None:
        server = Server(self, self._passage.room)
        try:
            await self._passage.upstream.connect(server)
            if not server.open:
                raise ConnectionResetError
        except OSError as error:
            self._connecting = None
            if self._waiting:
                self._no_answer(f"the server cannot be reached: {type(error).__name__}")
            return
        self._connecting = None
        self._server = server
        self._throttle()
        self._go_on()

    def _no_answer(self, why: str) -> None:
        *_, note = self._waiting[0]
        if note is not None:
            note.head(502, [])
            note.end()
        self._say_no(502, why)

    def _say_no(self, status: int, words: str) -> None:
        """And end."""
        kind = HTTPStatus(status).name.lower()
        error = {"message": f"kvtui record: {words}", "type": kind, "code": status}
        body = json.dumps({"error": error}).encode()
        self._transport.write(whole_answer(status, b"application/json", body, b"Connection: close"))
        self._transport.close()

    # A client that is slower than the server.

    def pause_writing(self) -> None:
        self._slow = True
        self._throttle()

    def resume_writing(self) -> None:
        self._slow = False
        self._throttle()

    def _throttle(self) -> None:
        transport = None if self._server is None else self._server.transport
        if transport is not None:
            (transport.pause_reading if self._slow else transport.resume_reading)()
