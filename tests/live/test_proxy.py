"""The pass-through against a server of our own: streams, aborts, errors, many at once."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kvtui.errors import ConfigError
from kvtui.live.poll import now_s
from kvtui.live.traffic.identity import Prefixes
from kvtui.live.traffic.proxy import Proxy
from kvtui.live.traffic.tracefile import TraceFile
from kvtui.live.traffic.upstream import Upstream as There
from kvtui.live.whatif.tail import MARGIN_S, Tail
from kvtui.traces import load
from tests.cli.run import complaint

aiohttp = pytest.importorskip("aiohttp")
from aiohttp import web  # noqa: E402


class Upstream:
    """Streams `tokens` events; between them it waits for `go`."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hung_up = 0
        self.break_after: int | None = None
        self.streaming = 0
        self.complains = False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        if request.path == "/v1/models":
            return web.json_response({"data": [{"id": "m"}]}, headers={"X-Own": "kept"})
        body = await request.json()
        self.asked.append(body)
        tokens = body.get("max_tokens", 3)
        usage = {"prompt_tokens": 40, "completion_tokens": tokens}
        if body.get("max_tokens") == 0 or self.complains:
            return web.json_response({"error": {"message": "no"}}, status=400)
        if not body.get("stream"):
            return web.json_response({"choices": [{"text": "secret answer"}], "usage": usage})
        return await self._stream(request, body, tokens, usage)

    async def _stream(
        self, request: web.Request, body: dict[str, Any], tokens: int, usage: dict[str, int]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        self.streaming += 1
        try:
            for number in range(tokens):
                await response.write(b'data: {"choices":[{"text":"word%d"}]}\n\n' % number)
                if number + 1 == self.break_after and request.transport is not None:
                    request.transport.abort()
                await self.go.wait()
                await asyncio.sleep(0)
            if (body.get("stream_options") or {}).get("include_usage"):
                event = json.dumps({"choices": [], "usage": usage})
                await response.write(f"data: {event}\n\n".encode())
            await response.write(b"data: [DONE]\n\n")
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.hung_up += 1
            raise
        return response


class World:
    def __init__(self, upstream: Upstream, url: str, path: Path, session: Any) -> None:
        self.upstream, self.url, self.path, self.session = upstream, url, path, session

    def post(self, **body: Any) -> Any:
        return self.session.post(f"{self.url}/v1/completions", json={"model": "m", "prompt": "Hello", **body})

    async def rows(self, count: int) -> list[dict[str, Any]]:
        """The requests of the trace, once there are so many."""
        for _ in range(500):
            lines = [line for line in self.path.read_text().splitlines()[1:] if "at_ms" in line]
            if len(lines) >= count:
                break
            await asyncio.sleep(0.01)
        assert len(lines) == count
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def recording(tmp_path: Path, *, force: bool = False, **options: Any) -> AsyncIterator[World]:
    upstream = Upstream()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", upstream.handle)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    path = tmp_path / "trace.jsonl"
    trace = TraceFile(path, about="", force=force)
    proxy = Proxy(f"http://127.0.0.1:{runner.addresses[0][1]}", trace, prefixes=Prefixes(), **options)
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(proxy.serve("127.0.0.1", 0, ready=ready))
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        try:
            yield World(upstream, f"http://127.0.0.1:{await ready}", path, session)
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await runner.cleanup()
            trace.close()


async def test_who_reads_along_knows_who_has_no_end_yet(tmp_path: Path) -> None:
    async with recording(tmp_path) as world:
        tail = Tail(world.path)
        world.upstream.go.clear()
        came = now_s()
        async with world.post(stream=True) as answer:
            await answer.content.readany()
            await asyncio.sleep(2 * MARGIN_S)
            known, until_s = tail.take()
            assert known == []
            assert came <= until_s < came + MARGIN_S
            world.upstream.go.set()
            await answer.read()
        await world.rows(1)
        await asyncio.sleep(MARGIN_S)
        ((at_s, prompt, output, *_),), until_s = tail.take()
    assert at_s == pytest.approx(came, abs=MARGIN_S)
    assert (prompt, output) == (40, 3)
    assert until_s > at_s


async def test_a_stream_is_passed_on_as_it_was_and_its_usage_noted(tmp_path: Path) -> None:
    async with recording(tmp_path) as world:
        async with world.post(stream=True, user="me@example.com") as answer:
            text = await answer.read()
        (row,) = await world.rows(1)
    assert (
        text
        == b"".join(b'data: {"choices":[{"text":"word%d"}]}\n\n' % n for n in range(3)) + b"data: [DONE]\n\n"
    )
    assert world.upstream.asked[0]["stream_options"] == {"include_usage": True}
    assert (row["prompt"], row["output"], row["counted"], row["status"]) == (40, 3, "usage", 200)
    assert 0 <= row["ttft_ms"] <= row["e2e_ms"]
    written = world.path.read_text()
    assert not any(word in written for word in ("Hello", "word", "example.com"))


async def test_as_is_changes_nothing(tmp_path: Path) -> None:
    async with recording(tmp_path, ask_usage=False) as world:
        async with world.post(stream=True) as answer:
            await answer.read()
        (row,) = await world.rows(1)
    assert "stream_options" not in world.upstream.asked[0]
    assert (row["prompt"], row["output"], row["counted"]) == (None, 3, "events")


async def test_a_usage_that_was_asked_for_arrives(tmp_path: Path) -> None:
    asking = {"include_usage": True}
    async with recording(tmp_path) as world, world.post(stream=True, stream_options=asking) as answer:
        assert b'"usage"' in await answer.read()


async def test_answers_in_one_piece_errors_and_other_pages(tmp_path: Path) -> None:
    async with recording(tmp_path) as world:
        async with world.post(headers={}) as answer:
            assert (await answer.json())["choices"] == [{"text": "secret answer"}]
        async with world.post(max_tokens=0, stream=True) as answer:
            assert answer.status == 400
            assert await answer.json() == {"error": {"message": "no"}}
        async with world.session.get(
            f"{world.url}/v1/models?x=%2F", headers={"Authorization": "Bearer t"}
        ) as answer:
            assert answer.headers["X-Own"] == "kept"
        good, bad = await world.rows(2)
    assert (good["prompt"], good["output"], good["status"]) == (40, 3, 200)
    assert good["ttft_ms"] is None  # the first token of an answer in one piece is not seen
    assert (bad["prompt"], bad["status"]) == (None, 400)
    assert world.upstream.headers[-1]["Authorization"] == "Bearer t"
    assert "secret" not in world.path.read_text()


async def test_a_token_is_passed_on_before_the_next_one_exists(tmp_path: Path) -> None:
    async with recording(tmp_path) as world:
        world.upstream.go.clear()
        async with world.post(stream=True) as answer:
            first = await asyncio.wait_for(answer.content.readuntil(b"\n\n"), 5)
            assert b"word0" in first
            world.upstream.go.set()
            await answer.read()


async def test_a_client_that_hangs_up_ends_the_request_there_too(tmp_path: Path) -> None:
    async with recording(tmp_path) as world:
        world.upstream.go.clear()
        answer = await world.post(stream=True)
        await answer.content.readuntil(b"\n\n")
        answer.close()
        (row,) = await world.rows(1)
        for _ in range(500):
            if world.upstream.hung_up:
                break
            await asyncio.sleep(0.01)
    assert world.upstream.hung_up == 1
    assert (row["aborted"], row["prompt"], row["output"]) == (True, None, 1)


async def test_a_server_that_breaks_off_is_not_taken_for_one_that_ended(tmp_path: Path) -> None:
    async with recording(tmp_path) as world:
        world.upstream.break_after = 2
        with pytest.raises(aiohttp.ClientError):
            async with world.post(stream=True) as answer:
                await answer.read()
        (row,) = await world.rows(1)
    assert row["aborted"]


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    trace = TraceFile(tmp_path / "t.jsonl", about="")
    proxy = Proxy("http://127.0.0.1:9", trace, prefixes=Prefixes())
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(proxy.serve("127.0.0.1", 0, ready=ready))
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{await ready}/v1/completions"
        async with session.post(url, json={"prompt": "x"}) as answer:
            assert answer.status == 502
    taken = Proxy("http://127.0.0.1:9", trace, prefixes=Prefixes())
    with pytest.raises(ConfigError, match="cannot listen on"):
        await taken.serve("127.0.0.1", ready.result())
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    trace.close()
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[2])["status"] == 502


async def test_a_thousand_streams_at_once(tmp_path: Path) -> None:
    """All are open at the same moment, a tenth of the clients hang up, and every one is written down."""
    many, fewer = 1000, 100

    async with recording(tmp_path) as world:
        world.upstream.go.clear()

        async def one(number: int) -> bytes:
            shared = [1] * 32 if number % 2 else [2] * 32
            async with world.post(stream=True, prompt=[*shared, number, number]) as answer:
                if number < fewer:
                    await answer.content.readuntil(b"\n\n")
                    return b""
                return await answer.read()

        tasks = [asyncio.create_task(one(number)) for number in range(many)]
        for _ in range(3000):
            if world.upstream.streaming == many:
                break
            await asyncio.sleep(0.01)
        assert world.upstream.streaming == many
        world.upstream.go.set()
        texts = await asyncio.gather(*tasks)
        assert all(text.endswith(b"data: [DONE]\n\n") for text in texts[fewer:])
        rows = await world.rows(many)
    whole = [row for row in rows if row["counted"] == "usage"]
    assert len(whole) >= many - fewer
    assert {(row["prompt"], row["output"]) for row in whole} == {(40, 3)}
    workload = load(str(world.path))
    assert len(workload) == len(whole)
    assert len({tuple(row["ids"][0]) for row in whole}) == 2  # two ways to begin


def test_an_older_trace_stays_until_there_is_a_port(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        command = ("record", "--upstream", "localhost:1", "--listen", where, "--force", "-o", str(path))
        assert "cannot listen on" in complaint(*command)
        assert not path.exists()
        path.write_text("what was recorded before\n")
        assert "cannot listen on" in complaint(*command)
    assert path.read_text() == "what was recorded before\n"


async def test_an_older_trace_is_replaced_once_there_is_a_port(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text("what was recorded before\n")
    async with recording(tmp_path, force=True) as world:
        async with world.post() as answer:
            await answer.read()
        assert len(await world.rows(1)) == 1
    assert load(str(world.path)).prompt.tolist() == [40]


async def test_a_packed_request_arrives_unpacked_and_says_so(tmp_path: Path) -> None:
    body = gzip.compress(json.dumps({"model": "m", "prompt": "Hello"}).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with recording(tmp_path) as world:
        async with world.session.post(f"{world.url}/v1/completions", data=body, headers=headers) as answer:
            assert answer.status == 200
        (row,) = await world.rows(1)
    assert world.upstream.asked == [{"model": "m", "prompt": "Hello"}]
    assert "Content-Encoding" not in world.upstream.headers[0]
    assert row["prompt"] == 40


@pytest.mark.parametrize("options", ["all", [1], 7])
async def test_options_that_are_none_are_left_to_the_server(tmp_path: Path, options: object) -> None:
    async with recording(tmp_path) as world:
        world.upstream.complains = True
        async with world.post(stream=True, stream_options=options) as answer:
            assert answer.status == 400
    assert world.upstream.asked[0]["stream_options"] == options


async def test_what_is_about_one_connection_goes_no_further(tmp_path: Path) -> None:
    headers = {"Connection": "keep-alive, X-Hop", "X-Hop": "1", "X-Far": "2"}
    async with recording(tmp_path) as world:
        answer = await world.session.get(f"{world.url}/v1/models", headers=headers)
        assert answer.status == 200
    assert "X-Hop" not in world.upstream.headers[0]
    assert world.upstream.headers[0]["X-Far"] == "2"


@asynccontextmanager
async def scripted(
    handle: Any, tmp_path: Path, *, scheme: str = "http", **options: Any
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, Proxy]]:
    """A client's bare connection to a recorder, and `handle` behind it."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0, **options)
    port = server.sockets[0].getsockname()[1]
    trace = TraceFile(tmp_path / "t.jsonl", about="")
    proxy = Proxy(f"{scheme}://127.0.0.1:{port}/base", trace, prefixes=Prefixes())
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(proxy.serve("127.0.0.1", 0, ready=ready))
    reader, writer = await asyncio.open_connection("127.0.0.1", await ready)
    try:
        yield reader, writer, proxy
    finally:
        writer.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        server.close()
        trace.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with the path asked for and ends every second connection after it."""
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            body = await reader.readexactly(int(length[1]) if length else 0)
            path = head.split()[1]
            text = path + b" " + body
            closing = b"Connection: close\r\n" if b"close" in path else b""
            writer.write(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (closing, len(text), text))
            if closing:
                break
    writer.close()


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    assert length is not None
    return await reader.readexactly(int(length[1]))


@pytest.mark.parametrize("prompt", [b'"\xff"', b"[1, 1e999, 99999999999999999999]", b"[" * 900 + b"]" * 900])
async def test_a_prompt_that_cannot_be_read_stops_nothing(tmp_path: Path, prompt: bytes) -> None:
    async with scripted(echo, tmp_path) as (reader, writer, _):
        for body in (b'{"prompt": %b}' % prompt, b'{"prompt": "%b"}' % (b"x" * 64)):
            writer.write(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            assert await answer(reader) == b"/base/v1/completions " + body
        for _ in range(500):
            rows = [line for line in (tmp_path / "t.jsonl").read_text().splitlines() if "at_ms" in line]
            if len(rows) == 2:
                break
            await asyncio.sleep(0.01)
    assert len(rows) == 2


async def test_requests_that_do_not_wait_for_each_other_are_answered_in_order(tmp_path: Path) -> None:
    async with scripted(echo, tmp_path) as (reader, writer, _):
        paths = [b"/1", b"/2-close", b"/3", b"/4"]
        writer.write(b"".join(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path for path in paths))
        assert [await answer(reader) for _ in paths] == [b"/base%b " % path for path in paths]
        writer.write(b"GET /5 HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert b"/base/5 " in await reader.read()


async def test_a_body_in_chunks_after_a_word_of_encouragement(tmp_path: Path) -> None:
    async with scripted(echo, tmp_path) as (reader, writer, _):
        writer.write(b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        assert await answer(reader) == b"/base/a abcde"


async def test_a_server_that_hangs_up_at_once_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = There.connect

    async def cut_off(upstream: There, protocol: Any) -> None:
        await connect(upstream, protocol)
        protocol.transport.abort()
        await asyncio.sleep(0)  # in which the connection learns of it

    monkeypatch.setattr(There, "connect", cut_off)
    async with scripted(echo, tmp_path) as (reader, writer, _):
        writer.write(b"GET /a HTTP/1.1\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.1 502 Bad Gateway\r\n")


async def test_what_is_no_request_is_answered_with_an_error(tmp_path: Path) -> None:
    async with scripted(echo, tmp_path) as (reader, writer, _):
        writer.write(b"hello\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 Bad Request\r\n")


async def test_a_client_that_does_not_read_holds_up_its_own_stream_only(tmp_path: Path) -> None:
    """What a server sends is not gathered here."""
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while sent < 1 << 30:
                writer.write(b"data: {}\n\n" * 10_000)
                await writer.drain()
                sent += 100_000
            writer.close()

    async with scripted(flood, tmp_path) as (_, writer, proxy):
        writer.write(b"GET /v1/stream HTTP/1.1\r\n\r\n")
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.2)
        (client,) = proxy.clients
        assert 0 < sent < 64 << 20
        assert client._transport.get_write_buffer_size() < 1 << 20


def certificate(folder: Path) -> Path:
    """Of 127.0.0.1, with its key."""
    path, key = folder / "cert.pem", folder / "key.pem"
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(key)]
    about = ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", *kind, *about, "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


async def test_a_server_behind_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = ssl.create_default_context
    ours = make(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(certificate(tmp_path))
    monkeypatch.setattr(ssl, "create_default_context", lambda: make(cafile=tmp_path / "cert.pem"))
    async with scripted(echo, tmp_path, scheme="https", ssl=ours) as (reader, writer, _):
        writer.write(b"POST /a HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200_000)
        assert await answer(reader) == b"/base/a " + b"x" * 200_000
    monkeypatch.setattr(ssl, "create_default_context", make)
    (tmp_path / "t.jsonl").unlink()
    async with scripted(echo, tmp_path, scheme="https", ssl=ours) as (reader, writer, _):
        writer.write(b"GET /a HTTP/1.1\r\n\r\n")
        assert b"SSLCertVerificationError" in await reader.read()
