"""What clients and servers may do wrong, and what becomes of the traffic and its trace then."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("httptools")
pytest.importorskip("msgspec")
from kvtui.live.traffic import notes
from kvtui.live.traffic.asking import Parts
from kvtui.live.traffic.identity import UNIT, Prefixes
from kvtui.live.traffic.notes import Note, Notes
from kvtui.live.traffic.requests import Request
from kvtui.live.traffic.tracefile import TraceFile
from tests.live.test_proxy import answer, echo, scripted

LONG = b"x" * 4 * UNIT
UNREADABLE = [b'{"model": "m", "prompt": "\xff\xfe"}', b'{"model": "m", "a": 1e999, "prompt": "%b"}' % LONG]
READABLE = b'{"model": "m", "prompt": "%b"}' % LONG


def request(body: bytes) -> Request:
    return Request(b"POST", b"/v1/completions", [], body, True, True, 0.0)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if "at_ms" in line]


def noting(path: Path) -> Notes:
    return Notes(TraceFile(path, about=""), prefixes=Prefixes(), ask_usage=True)


def begun(noted: Notes, body: bytes) -> tuple[Parts, Note | None]:
    """A request that was passed on."""
    passed, note = noted.begin(request(body))
    if note is not None:
        note.begun(request(body))
    return passed, note


@pytest.mark.parametrize("body", [*UNREADABLE, b'{"prompt": "\\ud83d"}'])
async def test_what_cannot_be_read_is_written_down_before_the_end(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    noted = noting(path)
    for each in (body, READABLE, body, READABLE):
        _, note = begun(noted, each)
        assert note is not None
        note.head(200, [])
        note.end()
        note.over()
    noted.close()
    assert [row["status"] for row in rows(path)] == [200] * 4


@pytest.mark.parametrize("body", UNREADABLE)
async def test_what_cannot_be_read_takes_no_room(
    body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MOST", 2 * len(body))
    noted = noting(tmp_path / "t.jsonl")
    for _ in range(9):
        begun(noted, body)
    assert len(noted._work) <= 4
    noted.close()
    assert noted._waiting == 0


async def test_one_prompt_larger_than_the_room_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "MOST", -1)
    passed, note = begun(noting(tmp_path / "t.jsonl"), READABLE)
    assert passed == (READABLE,)
    assert note is not None


async def test_of_numbers_out_of_range_and_half_pairs_the_rest_is_known(tmp_path: Path) -> None:
    noted = noting(tmp_path / "t.jsonl")
    half = b'{"model": "m", "prompt": "%b\\ud83d"}' % LONG
    found = [begun(noted, body)[1] for body in (READABLE, UNREADABLE[1], half)]
    noted.close()
    assert [(note.exchange.model, note.exchange.ids) for note in found if note] == [("m", [0])] * 3


SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
BAD_CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\ndata\r\n"


@pytest.mark.parametrize("said", [b"", b"not http at all\r\n\r\n", SWITCH, BAD_CHUNK, b"HTTP/1.1 20"])
async def test_a_server_that_gives_no_answer_is_told_of(tmp_path: Path, said: bytes) -> None:
    async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(READABLE)
        writer.write(said)
        writer.close()

    async with scripted(odd, tmp_path) as (reader, writer, _):
        writer.write(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(READABLE))
        writer.write(READABLE)
        head, _, body = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert json.loads(body)["error"]["code"] == 502
    assert [(row["status"], "aborted" in row) for row in rows(tmp_path / "t.jsonl")] == [(502, False)]


async def test_a_request_before_nonsense_is_answered_first(tmp_path: Path) -> None:
    async with scripted(echo, tmp_path) as (reader, writer, _):
        writer.write(b"GET /a HTTP/1.1\r\n\r\nnonsense\r\n\r\n")
        assert await answer(reader) == b"/base/a "
        assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.1 400 Bad Request\r\n")


ASKED = b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(READABLE), READABLE)


@pytest.mark.parametrize("goes_on", [True, False])
async def test_a_client_that_sends_no_more_is_answered_if_the_server_answers(
    tmp_path: Path, goes_on: bool
) -> None:
    """Who ends at that, as uvicorn does, ends the request here too."""

    async def server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(READABLE)
        assert await reader.read() == b""
        if goes_on:
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"choices":[]}')
        writer.close()

    async with scripted(server, tmp_path) as (reader, writer, proxy):
        writer.write(ASKED)
        writer.write_eof()
        got = await asyncio.wait_for(reader.read(), 10)
        assert (b'{"choices":[]}' if goes_on else b"the server hung up") in got
        until = asyncio.get_running_loop().time() + 10
        while proxy.clients and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.01)
        assert not proxy.clients
    assert [row["status"] for row in rows(tmp_path / "t.jsonl")] == [200 if goes_on else 502]


async def test_of_several_requests_all_are_answered_though_no_more_come(tmp_path: Path) -> None:
    async with scripted(echo, tmp_path) as (reader, writer, _):
        writer.write(b"GET /a HTTP/1.1\r\n\r\nGET /close HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n")
        writer.write_eof()
        assert [await answer(reader) for _ in range(3)] == [b"/base/a ", b"/base/close ", b"/base/b "]
        assert await asyncio.wait_for(reader.read(), 10) == b""
