"""Spans that a server sends, as rows of a trace."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kvtui.live.traffic import otlp
from kvtui.live.traffic.otlp import PATH, Receiver
from kvtui.live.traffic.tracefile import TraceFile
from kvtui.traces import load
from tests.cli.run import complaint

aiohttp = pytest.importorskip("aiohttp")

PROTOBUF = {"Content-Type": "application/x-protobuf"}


def span(start_ns: int, *, prompt: int = 120, output: int = 30, **more: Any) -> dict[str, Any]:
    """As vLLM 0.32 sends one of each request."""
    attributes = {
        "gen_ai.latency.time_to_first_token": {"doubleValue": 0.25},
        "gen_ai.latency.e2e": {"doubleValue": 1.5},
        "gen_ai.usage.prompt_tokens": {"intValue": str(prompt)},
        "gen_ai.usage.completion_tokens": {"intValue": str(output)},
        "gen_ai.response.model": {"stringValue": "m"},
        "gen_ai.prompt": {"stringValue": "a secret"},
        "gen_ai.request.id": {"stringValue": "cmpl-1"},
    }
    return {
        "name": "llm_request",
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(start_ns + 1_500_000_000),
        "attributes": [{"key": key, "value": value} for key, value in attributes.items()],
        **more,
    }


def document(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


@asynccontextmanager
async def receiving(path: Path) -> AsyncIterator[tuple[Any, str]]:
    trace = TraceFile(path, about="")
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(Receiver(trace).serve("127.0.0.1", 0, ready=ready))
    async with aiohttp.ClientSession() as session:
        try:
            yield session, f"http://127.0.0.1:{await ready}{PATH}"
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            trace.close()


async def test_a_span_is_a_request_and_nothing_else_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with receiving(path) as (session, url):
        start = time.time_ns()
        body = document(span(start), span(start + 10**9, prompt=7, output=2), {"name": "GET /health"})
        async with session.post(url, json=body) as answer:
            assert (answer.status, await answer.text()) == (200, "{}")
    first, second = map(json.loads, path.read_text().splitlines()[1:])
    assert (first["prompt"], first["output"], first["counted"], first["model"]) == (120, 30, "usage", "m")
    assert (first["ttft_ms"], first["e2e_ms"], first["status"]) == (250.0, 1500.0, 200)
    assert second["at_ms"] - first["at_ms"] == pytest.approx(1000)
    assert "secret" not in path.read_text()
    workload = load(str(path))
    assert workload.prompt.tolist() == [120, 7]
    assert workload.arrival_ns.tolist() == [0, 10**9]


async def test_what_came_before_or_is_told_twice_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with receiving(path) as (session, url):
        start = time.time_ns()
        inner = span(start + 1000, spanId="b", parentSpanId="a", endTimeUnixNano=str(start + 2000))
        body = document(span(start - 10**12), span(start, spanId="a"), inner)
        packed = gzip.compress(json.dumps(body).encode())
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        async with session.post(url, data=packed, headers=headers) as answer:
            assert answer.status == 200
    assert len(path.read_text().splitlines()) == 2


async def test_a_batch_that_is_sent_again_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "REMEMBERED", 2)
    path = tmp_path / "t.jsonl"
    async with receiving(path) as (session, url):
        start = time.time_ns()
        spans = [span(start + number, spanId=f"{number:016x}") for number in range(3)]
        for batch in (spans[:2], spans[:2], spans[1:], [span(start)], [span(start)]):
            async with session.post(url, json=document(*batch)) as answer:
                assert answer.status == 200
    rows = path.read_text().splitlines()[1:]
    assert len(rows) == 3 + 2  # without an id nobody can tell


async def test_in_protobuf_as_servers_send_them(tmp_path: Path) -> None:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    from google.protobuf.json_format import ParseDict

    path = tmp_path / "t.jsonl"
    async with receiving(path) as (session, url):
        body = ParseDict(document(span(time.time_ns())), service.ExportTraceServiceRequest())
        async with session.post(url, data=body.SerializeToString(), headers=PROTOBUF) as answer:
            assert (answer.status, await answer.read()) == (200, b"")
            assert answer.content_type == PROTOBUF["Content-Type"]
        async with session.post(url, data=b"\x00nonsense", headers=PROTOBUF) as answer:
            assert answer.status == 400
    (row,) = map(json.loads, path.read_text().splitlines()[1:])
    assert (row["prompt"], row["output"], row["ttft_ms"]) == (120, 30, 250.0)


@pytest.mark.parametrize(
    "body", ["[1, 2]", '{"resourceSpans": 3}', '{"resourceSpans": [{"scopeSpans": [7]}]}']
)
async def test_what_is_none_does_no_harm(body: str, tmp_path: Path) -> None:
    async with receiving(tmp_path / "t.jsonl") as (session, url):
        async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as answer:
            assert answer.status == 200
        async with session.post(url, data="{", headers={"Content-Type": "application/json"}) as answer:
            assert answer.status == 400
        async with session.get(url) as answer:
            assert answer.status == 404
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("first", [float("inf"), float("nan"), -1.0, True, "soon"])
async def test_times_that_cannot_be_are_not_known(first: object, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with receiving(path) as (session, url):
        wrong = span(time.time_ns(), endTimeUnixNano="99")
        wrong["attributes"] = [each for each in wrong["attributes"] if "first" not in each["key"]]
        told = {"key": "gen_ai.latency.time_to_first_token", "value": {"doubleValue": first}}
        wrong["attributes"].append(told)
        async with session.post(url, json=document(wrong)) as answer:
            assert answer.status == 200
    row = json.loads(path.read_text().splitlines()[1])
    assert (row["prompt"], row["ttft_ms"], row["e2e_ms"]) == (120, None, None)


@pytest.mark.parametrize("digits", [400, 5000])
async def test_numbers_that_are_too_large_spoil_their_span_only(digits: int, tmp_path: Path) -> None:
    path, many = tmp_path / "t.jsonl", "9" * digits
    async with receiving(path) as (session, url):
        now = time.time_ns()
        late = span(now, startTimeUnixNano=many, spanId="a")
        odd = span(now, endTimeUnixNano=many, spanId="b")
        odd["attributes"][0]["value"] = {"doubleValue": 10**400}
        odd["attributes"][2]["value"] = {"intValue": many}
        async with session.post(url, json=document(late, odd, span(now, spanId="c"))) as answer:
            assert answer.status == 200
    first, second = map(json.loads, path.read_text().splitlines()[1:])
    assert [first[name] for name in ("prompt", "output", "ttft_ms", "e2e_ms")] == [None, 30, None, None]
    assert second["prompt"] == 120


async def test_what_cannot_be_unpacked_is_told_to_the_sender(tmp_path: Path) -> None:
    sent = {"Content-Type": "application/json"}
    async with receiving(tmp_path / "t.jsonl") as (session, url):
        async with session.post(url, data="[" * 100_000, headers=sent) as answer:
            assert answer.status == 400
        packed = {**sent, "Content-Encoding": "gzip"}
        async with session.post(url, data=b"no gzip", headers=packed) as answer:
            assert answer.status == 400


def test_one_source_is_named() -> None:
    assert "give one of --upstream" in complaint("record", "-o", "t.jsonl")
    both = complaint("record", "--upstream", "http://x", "--otlp", "127.0.0.1:0", "-o", "t.jsonl")
    assert "--kv-events, where" in both
