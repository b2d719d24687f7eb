"""What `kvtui record` adds to streamed answers: to the first token, and to each event on its way.

    python -m tests.bench.record_latency [seconds a measurement]

Upstream, recorder and client are processes on one machine; between the last two stands, for comparison, a
relay that passes bytes on and does nothing else: nothing in Python can add less here. Rounds on the three
ways follow each other, so that a busy machine is busy for all. Every event says when it was sent, by a clock
that all have; streams start one after the other, their first event comes after 10 ms and then one every
20 ms, as of a server at work.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path

EVENTS = 48
EVERY_S = 0.02
PREFILL_S = 0.01
ROUNDS = 4
STREAMS = (1, 16, 100)
PROMPTS = {"short": "Once upon a time " * 12, "100 KB": "Once upon a time " * 6_000}
LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
SENT = re.compile(rb'"sent":(\d+)')
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":%d}}\n\n' % EVENTS


class Upstream(asyncio.Protocol):
    """Answers whatever it is asked with a stream."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.got, self.streaming = transport, bytearray(), False

    def data_received(self, data: bytes) -> None:
        self.got += data
        head = self.got.find(b"\r\n\r\n")
        length = LENGTH.search(self.got, 0, head) if head >= 0 else None
        if length is not None and len(self.got) >= head + 4 + int(length[1]):
            asked = b"include_usage" in self.got
            self.got.clear()
            asyncio.get_running_loop().call_later(PREFILL_S, self.begin, asked)

    def begin(self, asked: bool) -> None:
        self.transport.write(HEAD)
        self.event(EVENTS, asked)

    def event(self, left: int, asked: bool) -> None:
        if left:
            self.chunk(b'data: {"choices":[{"text":"word"}],"sent":%d}\n\n' % time.monotonic_ns())
            asyncio.get_running_loop().call_later(EVERY_S, self.event, left - 1, asked)
            return
        if asked:
            self.chunk(USAGE)
        self.chunk(b"data: [DONE]\n\n")
        self.transport.write(b"0\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))


class Client(asyncio.Protocol):
    """One stream after the other until `until`; notes when events come."""

    def __init__(self, request: bytes, times: dict[str, list[float]], until: float) -> None:
        self.request, self.times, self.until = request, times, until
        self.done = asyncio.get_running_loop().create_future()
        self.tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.first, self.asked = True, time.monotonic_ns()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        for sent in SENT.finditer(data):
            if self.first:
                self.first = False
                self.times["first token"].append((now - self.asked) / 1e6 - 1e3 * PREFILL_S)
            else:
                self.times["event"].append((now - int(sent[1])) / 1e6)
        self.tail = (self.tail + data)[-5:]
        if self.tail == b"0\r\n\r\n":
            self.tail = b""
            self.ask() if time.monotonic() < self.until else self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.done.set_result(None)


class Relay(asyncio.BufferedProtocol):
    """Half of a way through which bytes go as they are."""

    room = memoryview(bytearray(1 << 18))

    def __init__(self, other: Relay | None = None, *, to: int = 0) -> None:
        self.other, self.to, self.early = other, to, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self.other is None:
            self.opening = asyncio.get_running_loop().create_task(self.open())

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        _, self.other = await loop.create_connection(lambda: Relay(self), "127.0.0.1", self.to)
        self.other.transport.write(self.early)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.room

    def buffer_updated(self, nbytes: int) -> None:
        if self.other is None:
            self.early += self.room[:nbytes]
        else:
            self.other.transport.write(self.room[:nbytes])

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None:
            self.other.transport.close()


async def serve(port: int, to: int) -> None:
    make = (lambda: Relay(to=to)) if to else Upstream
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", port)
    await server.serve_forever()


async def round_of(port: int, streams: int, prompt: str, seconds: float) -> dict[str, list[float]]:
    loop = asyncio.get_running_loop()
    body = json.dumps({"model": "m", "prompt": prompt, "stream": True}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    times: dict[str, list[float]] = {"first token": [], "event": []}
    until = time.monotonic() + seconds
    clients = []
    for _ in range(streams):
        make: Callable[[], Client] = lambda: Client(head + body, times, until)  # noqa: E731
        clients.append((await loop.create_connection(make, "127.0.0.1", port))[1])
        await asyncio.sleep(min(seconds / 4, EVENTS * EVERY_S) / streams)
    await asyncio.gather(*(client.done for client in clients))
    return times


async def measure(seconds: float, ports: dict[str, int], recorder: int) -> None:
    columns = [*ports, "relay adds", "recorder adds"]
    print(f"{'streams':>7} {'prompt':<7} {'ms':<12}" + "".join(f"{name:>16}" for name in columns))
    print(f"{'':>7} {'':<7} {'':<12}" + f"{'median':>8}{'99 %':>8}" * len(columns) + "  recorder's CPU")
    for streams in STREAMS:
        for name, prompt in PROMPTS.items():
            times: dict[str, dict[str, list[float]]] = {to: {} for to in ports}
            before = cpu_s(recorder)
            for _ in range(ROUNDS):
                for to, port in ports.items():
                    for what, more in (await round_of(port, streams, prompt, seconds / ROUNDS)).items():
                        times[to].setdefault(what, []).extend(more)
            used = 1e3 * (cpu_s(recorder) - before) / len(times["recorded"]["first token"])
            for what in ("first token", "event"):
                ways = [[rank(times[to][what], share) for share in (0.5, 0.99)] for to in ports]
                adds = [b - a for way in ways[1:] for a, b in zip(ways[0], way, strict=True)]
                figures = "".join(f"{figure:8.3f}" for figure in [*chain(*ways), *adds])
                print(f"{streams:7} {name:<7} {what:<12}{figures}  {used:.2f} a request", flush=True)


def rank(times: list[float], share: float) -> float:
    return sorted(times)[int(share * len(times))]


def cpu_s(process: int) -> float:
    """CPU time that a process has taken (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def ready(ports: dict[str, int]) -> None:
    for port in ports.values():
        for _ in range(300):
            try:
                await round_of(port, 1, "", 0)
                break
            except OSError:
                await asyncio.sleep(0.1)


async def both(seconds: float, ports: dict[str, int], recorder: int) -> None:
    await ready(ports)
    await measure(seconds, ports, recorder)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    ports = {"direct": 18231, "relayed": 18233, "recorded": 18232}
    with tempfile.TemporaryDirectory() as folder:
        to, at = f"http://127.0.0.1:{ports['direct']}", f"127.0.0.1:{ports['recorded']}"
        trace = str(Path(folder) / "trace.jsonl")
        serving = [sys.executable, "-m", "tests.bench.record_latency", "serve"]
        commands = [
            [*serving, str(ports["direct"]), "0"],
            [sys.executable, "-m", "kvtui", "record", "--upstream", to, "--listen", at, "-o", trace],
            [*serving, str(ports["relayed"]), str(ports["direct"])],
        ]
        processes = [subprocess.Popen(command) for command in commands]
        try:
            asyncio.run(both(seconds, ports, processes[1].pid))
        finally:
            for process in processes:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[2:]))) if sys.argv[1:2] == ["serve"] else main()
