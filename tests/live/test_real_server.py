"""A real vLLM server from end to end. Skipped unless one is named:

    KVTUI_LIVE_URL=http://127.0.0.1:8123 python -m pytest -m server -s tests/live/test_real_server.py

A CPU and a tiny model will do; with a small pool it preempts under sixty requests.
KVTUI_LIVE_EVENTS and KVTUI_LIVE_REPLAY name its sockets for KV events.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kvtui.live.fetch import Client
from kvtui.live.poll import Poller
from kvtui.live.report import lane, line
from kvtui.live.servers import detect
from kvtui.traces import load

URL = os.environ.get("KVTUI_LIVE_URL", "")
pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not URL, reason="KVTUI_LIVE_URL names no server"),
]


class Kept(Client):
    """Keeps the last page, for reading it in another way."""

    page = ""

    def text(self, path: str) -> str:
        text = super().text(path)
        if path == "/metrics":
            self.page = text
        return text


def scraped(page: str, name: str) -> float:
    return sum(float(value) for value in re.findall(rf"^vllm:{name}{{[^}}]*}} (\S+)$", page, re.M))


def model() -> str:
    with urllib.request.urlopen(f"{URL}/v1/models") as answer:
        return str(json.load(answer)["data"][0]["id"])


def burst(url: str, name: str, *, requests: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """Requests of mixed lengths at once, half of them with a shared beginning; gives their usages."""
    rng = random.Random(seed)
    shared = [rng.randint(3, 1000) for _ in range(96)]
    bodies = [
        {
            "model": name,
            "prompt": (shared if n % 2 else []) + [rng.randint(3, 1000) for _ in range(rng.randint(10, 150))],
            "max_tokens": rng.randint(20, 150),
            "ignore_eos": True,
            "temperature": 0,
        }
        for n in range(requests)
    ]

    def one(body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            return dict(json.load(answer)["usage"])

    with ThreadPoolExecutor(requests) as pool:
        return list(pool.map(one, bodies))


def test_every_look_equals_the_scrape() -> None:
    client, name = Kept(URL), model()
    poller = Poller(client.name, detect(client), interval_s=0.1)
    start = poller.last.totals["output_tokens"].value
    usages: list[dict[str, Any]] = []
    traffic = threading.Thread(target=lambda: usages.extend(burst(URL, name)))
    traffic.start()
    looks, most, rates = 0, {"running": 0.0, "waiting": 0.0, "usage": 0.0}, []
    while traffic.is_alive():
        time.sleep(poller.wait_s)
        snapshot = poller.look()
        assert snapshot.stale_s is None, snapshot.problem
        shown, page = lane(snapshot), client.page
        assert shown["requests"]["running"] == scraped(page, "num_requests_running")
        assert shown["requests"]["waiting"] == scraped(page, "num_requests_waiting")
        assert shown["kv"]["usage"] == pytest.approx(scraped(page, "kv_cache_usage_perc"), abs=1e-6)
        assert shown["requests"]["preemptions"] == scraped(page, "num_preemptions_total")
        for key, value in (
            ("running", shown["requests"]),
            ("waiting", shown["requests"]),
            ("usage", shown["kv"]),
        ):
            most[key] = max(most[key], value[key])
        rates.append(snapshot.rates["output_tokens_per_s"].value or 0.0)
        looks += 1
    time.sleep(1.0)
    last = poller.look()
    counted = last.totals["output_tokens"].value - start
    print(f"\n{looks} looks equal to their scrapes; most {most}; at most {max(rates):,.0f} tokens/s")
    print(line(last))
    assert counted == sum(usage["completion_tokens"] for usage in usages)
    assert most["running"] > 1


def test_recorded_traffic_is_what_the_server_counted(tmp_path: Path) -> None:
    pytest.importorskip("httptools")
    from kvtui.live.traffic.identity import Prefixes
    from kvtui.live.traffic.proxy import Proxy
    from kvtui.live.traffic.tracefile import TraceFile

    path = tmp_path / "trace.jsonl"
    trace = TraceFile(path, about="")
    proxy, name = Proxy(URL, trace, prefixes=Prefixes()), model()

    async def record() -> list[dict[str, Any]]:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(proxy.serve("127.0.0.1", 0, ready=ready))
        usages = await asyncio.to_thread(burst, f"http://127.0.0.1:{await ready}", name, requests=40, seed=2)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return usages

    usages = asyncio.run(record())
    trace.close()
    workload = load(str(path))
    assert len(workload) == len(usages) == 40
    assert sorted(workload.prompt.tolist()) == sorted(usage["prompt_tokens"] for usage in usages)
    assert sorted(workload.output.tolist()) == sorted(usage["completion_tokens"] for usage in usages)
    first = workload.chain[workload.chain_start[:-1][workload.chain_start[1:] > workload.chain_start[:-1]]]
    assert (first == max(set(first.tolist()), key=first.tolist().count)).sum() >= 20  # begin alike


@pytest.mark.skipif("KVTUI_LIVE_EVENTS" not in os.environ, reason="KVTUI_LIVE_EVENTS names no socket")
def test_events_make_a_map_that_is_whole() -> None:
    pytest.importorskip("zmq")
    from kvtui.live.subscribe import Subscription

    client, name = Client(URL), model()
    blocks = detect(client).read().blocks.value
    assert blocks
    subscription = Subscription(
        os.environ["KVTUI_LIVE_EVENTS"],
        blocks=int(blocks),
        replay=os.environ.get("KVTUI_LIVE_REPLAY"),
        topic="kv-events",
    )
    try:
        burst(URL, name, requests=20, seed=3)
        time.sleep(1.0)
        cells, missing = subscription.cells()
        content = subscription.content
        held, known, lost = int(cells.sum()), content.map.contents, subscription.batches.lost
        print(f"\n{held} of {blocks:.0f} blocks cached, {known} contents, {lost} batches lost")
        assert not missing
        assert 0 < cells.sum() <= blocks
        assert content.map.beyond == 0
    finally:
        subscription.close()
