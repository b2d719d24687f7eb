"""An answer on its way from the server to the client, with httptools. Knows no network."""

from __future__ import annotations

from typing import Protocol

from kvtui.live.traffic.heads import answer_head
from kvtui.live.traffic.packages import httptools
from kvtui.live.traffic.requests import Headers, Request, header


class Witness(Protocol):
    """Sees an answer go by."""

    def head(self, status: int, headers: Headers) -> bool:
        """Told first; gives whether something may be kept back of what follows."""
        ...

    def take(self, data: bytes) -> bytes:
        """Some of its body; gives what is to be passed on."""
        ...

    def end(self) -> bytes:
        """The body is whole; gives what was kept back until now and is to be passed on."""
        ...


class Answer:
    """Takes what the server sends on a request; gives what the client gets."""

    def __init__(self, request: Request, witness: Witness | None) -> None:
        self._request = request
        self._witness = witness
        self._parser = httptools().HttpResponseParser(self)
        self._reason, self._headers = b"", list[tuple[bytes, bytes]]()
        self._head, self._body = b"", list[bytes]()
        self._chunked = self._in_body = self._to_the_end = False
        self.whole = False
        self.begun = False  # whether the client has something of it
        self.last = False  # whether the server's connection ends with it

    def take(self, data: bytes | memoryview) -> bytes:
        """Raises HttpParserError where that is no answer, HttpParserUpgrade where it changes the protocol."""
        try:
            self._parser.feed_data(data)
        except httptools().HttpParserError:
            if not self.whole:
                raise
            self.last = True  # behind the answer nothing matters
        head, self._head = self._head, b""
        body, self._body = b"".join(self._body), []
        passed = head + self._passed(body) + (self._end() if self.whole else b"")
        self.begun |= bool(passed)
        return passed

    def broken(self) -> bytes | None:
        """The server's connection has ended. Gives the last bytes if that is how the answer ends; None if it
        broke off."""
        if not self._to_the_end or self.whole:
            return None
        self.whole = True
        return self._end()

    def _passed(self, body: bytes) -> bytes:
        if not body:
            return b""
        return self._framed(body if self._witness is None else self._witness.take(body))

    def _end(self) -> bytes:
        rest = b"" if self._witness is None else self._framed(self._witness.end())
        return rest + (b"0\r\n\r\n" if self._chunked else b"")

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if data and self._chunked else data

    # What httptools calls.

    def on_message_begin(self) -> None:
        if self.whole:
            self.last = True  # nobody asked for what comes now
        self._headers, self._reason = [], b""
        self._in_body = False

    def on_status(self, part: bytes) -> None:
        self._reason += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # trailers are about nothing that is passed on
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_body = True
        status = self._parser.get_status_code()
        if self.whole or status < 200:
            return
        length = header(self._headers, b"content-length")
        keeps_back = self._witness is not None and self._witness.head(status, self._headers)
        empty = status in (204, 304) or self._request.method == b"HEAD"
        self._to_the_end = (
            not empty and length is None and header(self._headers, b"transfer-encoding") is None
        )
        self._chunked = self._request.chunks and not empty and (length is None or keeps_back)
        framing = b"Transfer-Encoding: chunked" if self._chunked else b""
        if length is not None and (empty or not keeps_back):
            framing = b"Content-Length: " + length
        closing = b"" if self.client_stays else b"Connection: close"
        self._head = answer_head(status, self._reason, self._headers, framing, closing)
        self.last = self._to_the_end or not self._parser.should_keep_alive()
        self.whole = empty

    @property
    def client_stays(self) -> bool:
        return self._request.stays

    def on_body(self, part: bytes) -> None:
        if not self.whole:
            self._body.append(part)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() >= 200:
            self.whole = True
