"""Heads of HTTP messages on their way from one connection to the other."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from typing import Final

from kvtui.live.traffic.requests import Headers, Request

# Headers that are about one connection (RFC 9110, 7.6.1), or that are written anew.
_HOP: Final = {
    *(
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
    ),
    *(b"trailer", b"upgrade", b"transfer-encoding", b"content-length"),
}
_OF_REQUESTS: Final = {b"host", b"accept-encoding", b"expect"}
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_WITH_BODY: Final = (b"POST", b"PUT", b"PATCH")


def request_head(request: Request, length: int, *, host: bytes, base: bytes) -> bytes:
    """Of a request to the server at `host`, below the path `base`, with a body of `length` bytes. The answer
    is to come unpacked: what is packed could not be looked at."""
    lines = [request.method + b" " + base + request.target + b" HTTP/1.1", b"Host: " + host]
    lines += _written(request.headers, without=_OF_REQUESTS)
    lines.append(b"Accept-Encoding: identity")
    if length or request.method in _WITH_BODY:
        lines.append(b"Content-Length: %d" % length)
    return b"\r\n".join([*lines, b"", b""])


def answer_head(status: int, reason: bytes, headers: Headers, *more: bytes) -> bytes:
    """Of an answer to the client; `more` are lines about its connection."""
    lines = [b"HTTP/1.1 %d %b" % (status, reason), *_written(headers), *filter(None, more)]
    return b"\r\n".join([*lines, b"", b""])


def whole_answer(status: int, kind: bytes, body: bytes, *more: bytes) -> bytes:
    """An answer of our own."""
    headers = [(b"Content-Type", kind)]
    length = b"Content-Length: %d" % len(body)
    return answer_head(status, HTTPStatus(status).phrase.encode(), headers, length, *more) + body


def _written(headers: Headers, *, without: Collection[bytes] = ()) -> list[bytes]:
    """Lines of the headers that are to be passed on, repeated ones too."""
    named = [value.lower().split(b",") for name, value in headers if name.lower() == b"connection"]
    dropped = _HOP.union(without, *({each.strip() for each in names} for names in named))
    return [name + b": " + value for name, value in headers if name.lower() not in dropped]
