"""Spans that a server sends by OTLP over HTTP (vLLM: `--otlp-traces-endpoint`) as rows of a trace.

One span is one request that is over: its arrival, tokens and times, as the server itself has them. Nothing
else of it is kept.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, cast

from kvtui.errors import ConfigError
from kvtui.live.traffic.answers import Usage
from kvtui.live.traffic.heads import CONTINUE, whole_answer
from kvtui.live.traffic.listening import listening
from kvtui.live.traffic.requests import Reader, Request, header
from kvtui.live.traffic.tracefile import Exchange, TraceFile
from kvtui.traces.formats.otel import usage_of
from kvtui.traces.spans import Span, otlp_spans, summing_up

PATH = "/v1/traces"
REMEMBERED = 100_000  # ids of spans: those of an hour and more
_PROTOBUF, _JSON = b"application/x-protobuf", b"application/json"
_TTFT = ("gen_ai.latency.time_to_first_token", "gen_ai.server.time_to_first_token")  # seconds
_DIGITS = 20  # of whole numbers of 64 bits
_LONGEST_S = 1e9  # decades: no time to a first token
_MODEL = ("gen_ai.response.model", "gen_ai.request.model")


class Receiver:
    """Takes spans until it is cancelled. Requests that came before it was made are left out."""

    def __init__(self, trace: TraceFile) -> None:
        self._trace = trace
        self._seen: OrderedDict[str, None] = OrderedDict()  # ids of spans, the last ones last
        self._began_ns = time.time_ns()

    async def serve(self, host: str, port: int, *, ready: asyncio.Future[int] | None = None) -> None:
        """`ready` is told the port; the trace begins when there is one.

        Raises:
            ConfigError: the extra is not installed, or the port cannot be had.
        """
        async with listening(lambda: _Sender(self._answer), host, port) as found:
            self._trace.begin()
            if ready is not None:
                ready.set_result(found)
            await asyncio.Event().wait()

    def _answer(self, request: Request) -> bytes:
        if request.path != PATH.encode() or request.method != b"POST":
            return _no(404, f"spans go to POST {PATH}")
        kind = header(request.headers, b"content-type") or b""
        packed = kind.partition(b";")[0].strip() == _PROTOBUF
        try:
            document = (_unpacked if packed else json.loads)(request.body)
        except ConfigError as error:
            return _no(415, f"{error.message}; {error.hint}")
        except (ValueError, RecursionError) as error:
            return _no(400, f"these are no spans: {error}")
        for exchange in self._exchanges(document if isinstance(document, dict) else {}):
            self._trace.add(exchange)
        return whole_answer(200, _PROTOBUF, b"") if packed else whole_answer(200, _JSON, b"{}")

    def _exchanges(self, document: dict[str, Any]) -> Iterator[Exchange]:
        spans = [span for span in otlp_spans(document) if span is not None and usage_of(span) is not None]
        sums = summing_up(spans)
        for span in spans:
            if span.id in sums or self._told(span):
                continue
            if (exchange := self._exchange(span)) is not None:
                yield exchange

    def _told(self, span: Span) -> bool:
        """Whether it has come before: who gets no answer in time sends again."""
        if not span.id:
            return False
        told = span.id in self._seen
        self._seen[span.id] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return told

    def _exchange(self, span: Span) -> Exchange | None:
        start_ns, end_ns = _whole(span.start), _whole(span.end)
        if start_ns is None or start_ns < self._began_ns:
            return None
        at_s = (start_ns - self._began_ns) / 1e9
        first, model = _seconds(_first(span, _TTFT)), _first(span, _MODEL)
        return Exchange(
            at_s,
            [],
            model=model if isinstance(model, str) else None,
            status=500 if span.failed else 200,
            usage=Usage(*map(_whole, usage_of(span) or ())),
            first_s=None if first is None else at_s + first,
            end_s=None if end_ns is None or end_ns < start_ns else (end_ns - self._began_ns) / 1e9,
        )


class _Sender(asyncio.Protocol):
    """A connection from who sends spans."""

    def __init__(self, answer: Callable[[Request], bytes]) -> None:
        self._answer = answer
        self._reader = Reader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are, and are not derived from it

    def data_received(self, data: bytes) -> None:
        for request in self._reader.take(data):
            self._transport.write(self._answer(request))
            if not request.stays:
                self._transport.close()
                return
        if refused := self._reader.refused:
            self._transport.write(_no(*refused))
            self._transport.close()
        elif self._reader.encourage:
            self._reader.encourage = False
            self._transport.write(CONTINUE)


def _no(status: int, words: str) -> bytes:
    return whole_answer(status, b"text/plain; charset=utf-8", f"{words}\n".encode())


def _first(span: Span, keys: tuple[str, ...]) -> Any:
    return next((span.attributes[key] for key in keys if key in span.attributes), None)


def _seconds(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LONGEST_S
    return float(value) if known else None  # type: ignore[arg-type]


def _whole(value: object) -> int | None:
    """OTLP/JSON writes whole numbers of 64 bits as text."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value)
    return int(value) if text.isdecimal() and len(text) <= _DIGITS else None


def _unpacked(body: bytes) -> Any:
    """The same document as in OTLP/JSON.

    Raises:
        ConfigError: the package that knows the format is not installed.
        ValueError: these are none.
    """
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        raise ConfigError(
            "spans in protobuf need the Python package opentelemetry-proto",
            hint="pip install 'kvtui[attach,otlp]', or send them as JSON",
        ) from None
    try:
        return MessageToDict(ExportTraceServiceRequest.FromString(body))
    except DecodeError as error:
        raise ValueError(str(error)) from None
