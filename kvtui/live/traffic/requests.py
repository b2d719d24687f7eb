"""Requests as they come in on a connection, with httptools (extra `attach`). Knows no network."""

from __future__ import annotations

import time
import zlib
from typing import Final, NamedTuple

from kvtui.live.traffic.packages import httptools

LARGEST: Final = 256 << 20  # bytes of a request
_UNPACKED: Final = (b"gzip", b"x-gzip", b"deflate")
_ANY_HEADER: Final = 32 + zlib.MAX_WBITS  # of gzip or zlib

Headers = list[tuple[bytes, bytes]]


class Refused(NamedTuple):
    """What came is no request that can be passed on; `status` is the answer to it."""

    status: int
    message: str


class Request(NamedTuple):
    method: bytes
    target: bytes  # path and query, as they came
    headers: Headers  # as they came
    body: bytes
    chunks: bool  # whether the client understands an answer in chunks
    stays: bool  # whether the client goes on with the connection
    came_s: float  # by `time.monotonic`

    @property
    def path(self) -> bytes:
        return self.target.partition(b"?")[0]


def header(headers: Headers, name: bytes) -> bytes | None:
    """The first one of a name in lower case."""
    return next((value for key, value in headers if key.lower() == name), None)


class Reader:
    """Takes the bytes of a connection; gives requests once they are whole, up to what is none: `refused`."""

    def __init__(self) -> None:
        self._tools = httptools()
        self._whole: list[Request] = []
        self._size = 0
        self.encourage = False  # whether the client waits for a word before it sends the body
        self.refused: Refused | None = None  # after the requests that came before
        self._renew()

    def _renew(self) -> None:
        self._parser = self._tools.HttpRequestParser(self)

    def take(self, data: bytes | memoryview) -> list[Request]:
        """Some bytes; gives the requests that end in them."""
        self._size += len(data)
        while data and self.refused is None:
            data = self._feed(data)
        if self._size > LARGEST:
            self._refuse(413, f"a request of more than {LARGEST >> 20} MiB is not passed on")
        whole, self._whole = self._whole, []
        return whole

    def _feed(self, data: bytes | memoryview) -> bytes | memoryview:
        """Gives what is for another parser."""
        try:
            self._parser.feed_data(data)
        except self._tools.HttpParserUpgrade as upgrade:
            self._renew()  # which is not done here: what follows is the next request
            return data[upgrade.args[0] :]
        except self._tools.HttpParserError as error:
            self._refuse(400, f"this is no HTTP request: {error}")
        return b""

    def _refuse(self, status: int, message: str) -> None:
        self.refused = self.refused or Refused(status, message)

    # What httptools calls.

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers: Headers = []
        self._body: list[bytes] = []
        self._came_s = time.monotonic()
        self._in_head = True

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # and not behind the body
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        self.encourage = (header(self._headers, b"expect") or b"").lower() == b"100-continue"

    def on_body(self, part: bytes) -> None:
        self._body.append(part)
        self.encourage = False

    def on_message_complete(self) -> None:
        parser = self._parser
        newer = parser.get_http_version() == "1.1"
        self._size, self.encourage = 0, False
        target = _origin(self._target)
        if target is None:
            self._refuse(400, "only paths on a server are passed on")
        if target is None or self.refused:
            return
        request = Request(
            parser.get_method(),
            target,
            self._headers,
            b"".join(self._body),
            newer,
            newer and parser.should_keep_alive(),
            self._came_s,
        )
        self._whole.append(unpacked(request))


def _origin(target: bytes) -> bytes | None:
    """Path and query, of a whole address too."""
    if target.startswith(b"/"):
        return target
    _, found, rest = target.partition(b"://")
    return b"/" + rest.partition(b"/")[2] if found else None


def unpacked(request: Request) -> Request:
    """What is packed cannot be looked at: it is sent on without that. As it is, if packed in another way."""
    packing = header(request.headers, b"content-encoding")
    if packing is None or packing.strip().lower() not in _UNPACKED:
        return request
    unpacker = zlib.decompressobj(_ANY_HEADER)
    try:
        body = unpacker.decompress(request.body, LARGEST)
    except zlib.error:
        return request  # for the server to complain
    if unpacker.unconsumed_tail or not unpacker.eof:
        return request
    headers = [pair for pair in request.headers if pair[0].lower() != b"content-encoding"]
    return request._replace(body=body, headers=headers)
