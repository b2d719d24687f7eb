"""Passes requests on to a server and its answers back, and notes what a trace needs of them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kvtui.live.traffic.answers import Plain, Stream
from kvtui.live.traffic.identity import Prefixes
from kvtui.live.traffic.listening import aiohttp_and_web, listening
from kvtui.live.traffic.tracefile import Exchange, TraceFile, json_object

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, web

RECORDED: Final = ("/completions", "/chat/completions", "/responses")  # ends of paths
# Headers that are about one connection (RFC 9110, 7.6.1), or that change on the way.
_HOP: Final = {
    *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"),
    *("transfer-encoding", "host", "content-length", "accept-encoding", "expect"),
}
_SESSION: Final = ("x-session-id", "session-id", "x-conversation-id")


class Proxy:
    """One recording. `ask_usage`: streamed answers are asked to tell their usage, and the event with it is
    kept from clients that did not ask."""

    def __init__(
        self, upstream: str, trace: TraceFile, *, prefixes: Prefixes, ask_usage: bool = True
    ) -> None:
        self._upstream = upstream.rstrip("/")
        self._trace = trace
        self._prefixes = prefixes
        self._ask_usage = ask_usage
        self._start = time.monotonic()
        self._session: ClientSession | None = None

    async def serve(self, host: str, port: int, *, ready: asyncio.Future[int] | None = None) -> None:
        """Until cancelled. `ready` is told the port; the trace begins when there is one.

        Raises:
            ConfigError: the extra is not installed, or the port cannot be had.
        """
        aiohttp, _ = aiohttp_and_web()
        # No limits and no time-outs of our own: the two ends decide.
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30)
        async with (
            aiohttp.ClientSession(
                connector=connector,
                timeout=timeout,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            ) as self._session,
            listening(self._handle, host, port) as found,
        ):
            self._trace.begin(round(time.time() - self._now(), 6))
            if ready is not None:
                ready.set_result(found)
            await asyncio.Event().wait()

    def _now(self) -> float:
        return time.monotonic() - self._start

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        arrived = self._now()
        body = await request.read()
        fields = json_object(body) if request.path.endswith(RECORDED) and request.method == "POST" else None
        if fields is None:
            return await self._pass_on(request, body, None, Plain(keep=False))
        exchange = Exchange(arrived, [], self._who(request.headers, fields))
        exchange.model = fields["model"] if isinstance(fields.get("model"), str) else None
        hide = self._ask_usage and _keeps_usage_back(request.path, fields)
        if hide:
            body = _asking_for_usage(body, fields)
        answer = Stream(hide_usage=hide) if fields.get("stream") else Plain()
        noted = asyncio.get_running_loop().call_soon(self._trace.open, exchange)  # while the server is asked
        exchange.aborted = True
        try:
            response = await self._pass_on(request, body, exchange, answer)
            exchange.aborted = False
            return response
        finally:
            noted.cancel()  # where it is over before it began
            exchange.end_s, exchange.usage, exchange.chunks = self._now(), answer.usage, answer.chunks
            exchange.ids = self._prefixes.units(fields)  # not before: nobody should wait for it
            self._trace.add(exchange)

    async def _pass_on(
        self, request: web.Request, body: bytes, exchange: Exchange | None, answer: Stream | Plain
    ) -> web.StreamResponse:
        aiohttp, web = aiohttp_and_web()
        from yarl import URL

        assert self._session is not None
        # What is packed cannot be looked at: the body was unpacked here, and the answer is to come unpacked.
        kept = [(name, value) for name, value in _kept(request.headers) if name.lower() != "content-encoding"]
        headers = [*kept, ("Accept-Encoding", "identity")]
        url = URL(f"{self._upstream}{request.rel_url.raw_path_qs}", encoded=True)  # as it came
        try:
            reply = await self._session.request(
                request.method, url, headers=headers, data=body or None, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError) as error:
            return _bad_gateway(web, error, exchange)
        async with reply:
            if exchange is not None:
                exchange.status = reply.status
            return await self._answer(request, reply, exchange, answer)

    async def _answer(
        self, request: web.Request, reply: ClientResponse, exchange: Exchange | None, answer: Stream | Plain
    ) -> web.StreamResponse:
        aiohttp, web = aiohttp_and_web()
        response = web.StreamResponse(status=reply.status, reason=reply.reason, headers=_kept(reply.headers))
        if isinstance(answer, Plain) and reply.content_length is not None:
            response.content_length = reply.content_length
        await response.prepare(request)
        try:
            async for data in reply.content.iter_any():
                passed = answer.take(data)
                if exchange is not None and exchange.first_s is None and answer.began:
                    exchange.first_s = self._now()
                if passed:
                    await response.write(passed)
            if rest := answer.end():
                await response.write(rest)
        except aiohttp.ClientPayloadError:
            # The server broke off: so must we, that nobody takes half an answer for a whole one.
            if request.transport is not None:
                request.transport.abort()
            raise
        await response.write_eof()
        return response

    def _who(self, headers: Mapping[str, str], fields: Mapping[str, Any]) -> str | None:
        """Who belongs together, as a name that says nothing."""
        named = next((headers[name] for name in _SESSION if name in headers), None)
        named = named or fields.get("prompt_cache_key") or fields.get("user")
        return self._prefixes.secret(named) if isinstance(named, str) else None


def _keeps_usage_back(path: str, fields: Mapping[str, Any]) -> bool:
    """Whether the answer to a request would come without its usage. Options that are none are passed on as
    they are, for the server to complain."""
    options = fields.get("stream_options") or {}
    asked = not isinstance(options, dict) or bool(options.get("include_usage"))
    return bool(fields.get("stream")) and not asked and not path.endswith("/responses")


def _asking_for_usage(body: bytes, fields: Mapping[str, Any]) -> bytes:
    """The request with the option that its answer tell its usage. Long prompts are not written anew."""
    option = {"stream_options": {**(fields.get("stream_options") or {}), "include_usage": True}}
    text = body.strip()
    if "stream_options" not in fields and text[:1] == b"{" and text[1:2] != b"\0":  # a byte a character
        return text[:-1] + b"," + json.dumps(option).encode()[1:]
    return json.dumps({**fields, **option}).encode()


def _kept(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Headers to pass on, repeated ones too; not those that are about one connection."""
    items = list(headers.items())
    named = [value.lower().split(",") for name, value in items if name.lower() == "connection"]
    dropped = _HOP | {each.strip() for names in named for each in names}
    return [(name, value) for name, value in items if name.lower() not in dropped]


def _bad_gateway(web: Any, error: Exception, exchange: Exchange | None) -> web.Response:
    if exchange is not None:
        exchange.status = 502
    words = f"kvtui record: the server cannot be reached: {type(error).__name__}"
    return web.json_response({"error": {"message": words, "type": "bad_gateway", "code": 502}}, status=502)
