"""What `kvtui record` adds: time to the first token and to the end of a streamed answer, with and without it.

    python -m tests.bench.record_latency [requests]

Upstream, recorder and client are three processes; requests go one after the other, through and past the
recorder in turn, so that a busy machine is busy for both. Prints the median, and the quickest
twentieth, which is what a quiet machine does.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
from aiohttp import web

TOKENS = 64
EVENT = b'data: {"choices":[{"text":"word"}]}\n\n'


async def answer(request: web.Request) -> web.StreamResponse:
    await request.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for _ in range(TOKENS):
        await response.write(EVENT)
        await asyncio.sleep(0)
    await response.write(b"data: [DONE]\n\n")
    return response


def upstream() -> None:
    application = web.Application()
    application.router.add_post("/v1/completions", answer)
    web.run_app(application, host="127.0.0.1", port=int(sys.argv[2]), print=None)


async def once(session: aiohttp.ClientSession, port: int) -> tuple[float, float]:
    body = {"model": "m", "prompt": "Once upon a time " * 200, "stream": True}
    start = time.perf_counter()
    async with session.post(f"http://127.0.0.1:{port}/v1/completions", json=body) as response:
        await response.content.readany()
        first = time.perf_counter() - start
        await response.read()
    return first, time.perf_counter() - start


async def ready(ports: dict[str, int]) -> None:
    async with aiohttp.ClientSession() as session:
        for port in ports.values():
            for _ in range(300):
                try:
                    await once(session, port)
                    break
                except aiohttp.ClientError:
                    await asyncio.sleep(0.1)


async def measure(requests: int, ports: dict[str, int]) -> None:
    async with aiohttp.ClientSession() as session:
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in ports}
        for _ in range(requests):
            for name, port in ports.items():
                times[name].append(await once(session, port))
    direct, recorded = (list(zip(*times[name], strict=True)) for name in ports)
    for at, what in enumerate(("first token", f"{TOKENS} tokens")):
        for share, name in ((0.05, "best 5 %"), (0.5, "median")):
            a, b = (1e3 * sorted(each[at])[int(share * requests)] for each in (direct, recorded))
            print(f"{what:<12} {name:<9} direct {a:7.3f} ms  recorded {b:7.3f} ms  adds {b - a:6.3f} ms")


def cpu_s(process: int) -> float:
    """CPU time that a process has taken (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    ports = {"direct": 18231, "recorded": 18232}
    with tempfile.TemporaryDirectory() as folder:
        to, at = f"http://127.0.0.1:{ports['direct']}", f"127.0.0.1:{ports['recorded']}"
        trace = str(Path(folder) / "trace.jsonl")
        commands = [
            [sys.executable, "-m", "tests.bench.record_latency", "upstream", str(ports["direct"])],
            [sys.executable, "-m", "kvtui", "record", "--upstream", to, "--listen", at, "-o", trace],
        ]
        processes = [subprocess.Popen(command) for command in commands]
        try:
            asyncio.run(ready(ports))
            before = cpu_s(processes[1].pid)
            asyncio.run(measure(requests, ports))
            used = (cpu_s(processes[1].pid) - before) / requests
            print(f"the recorder takes {used * 1e3:.3f} ms of CPU a request")
        finally:
            for process in processes:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    upstream() if sys.argv[1:2] == ["upstream"] else main()
