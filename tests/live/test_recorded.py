"""Recorded pages of a real vLLM server, served locally, give exactly what is known about them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kvtui.live.poll import attach
from kvtui.live.report import lane
from tests.live.fake import Answers, serving
from tests.shared import SHARED, needs_shared

MAIN = SHARED / "vllm-live" / "main"
LABELS = '{engine="0",model_name="tiny-llama"}'

pytestmark = needs_shared


def scrapes() -> list[dict]:
    return json.loads((MAIN / "scrapes.json").read_text()) if MAIN.is_dir() else []


@pytest.fixture(name="vllm")
def recorded() -> Iterator[Answers]:
    pages = {
        "/version": (MAIN / "version.json").read_text(),
        "/v1/models": (MAIN / "models.json").read_text(),
    }
    with serving(pages) as server:
        yield server


@pytest.mark.parametrize("scrape", scrapes(), ids=lambda scrape: scrape["file"])
def test_every_scrape(vllm: Answers, scrape: dict) -> None:
    vllm.pages["/metrics"] = (MAIN / scrape["file"]).read_text()
    known = {name.removeprefix("vllm:"): value for name, value in scrape["values"].items()}
    shown = lane(attach(vllm.url).last)
    assert shown["server"] | {"stale_s": None} == {
        "kind": "vllm",
        "version": "0.32.0",
        "model": "tiny-llama",
        "engines": 1,
        "stale_s": None,
        "problem": None,
        "restarts": 0,
    }
    assert shown["requests"]["running"] == known[f"num_requests_running{LABELS}"]
    assert shown["requests"]["waiting"] == known[f"num_requests_waiting{LABELS}"]
    assert shown["requests"]["preemptions"] == known[f"num_preemptions_total{LABELS}"]
    assert shown["kv"]["usage"] == known[f"kv_cache_usage_perc{LABELS}"]
    assert shown["prefix"]["query_tokens"] == known[f"prefix_cache_queries_total{LABELS}"]
    assert shown["prefix"]["hit_tokens"] == known[f"prefix_cache_hits_total{LABELS}"]
    assert shown["prompt_tokens"] == known[f"prompt_tokens_total{LABELS}"]
    assert shown["output_tokens"] == known[f"generation_tokens_total{LABELS}"]
    assert (shown["kv"]["blocks"], shown["kv"]["block_size"]) == (40, 32)  # the null block is not usable
    assert shown["kv"]["pool_tokens"] == 1280
    assert shown["throughput"]["output_tokens_per_s"] is None  # one look has no rate


def test_figures_of_the_last_page(vllm: Answers) -> None:
    vllm.pages["/metrics"] = (MAIN / "metrics/02-burst-05.txt").read_text()
    shown = lane(attach(vllm.url).last)
    assert shown["requests"]["finished"] == 34
    assert shown["prefix"]["hit_rate"] == pytest.approx(1056 / 5819, abs=1e-6)
    assert shown["latency"]["ttft_s"]["n"] == 42
    assert shown["latency"]["ttft_s"]["mean"] == pytest.approx(34.9773325920105 / 42, abs=1e-6)
    assert shown["latency"]["e2e_s"]["n"] == 34
    assert shown["origin"]["requests.running"] == "reported"
    assert shown["origin"]["prefix.hit_rate"] == "derived"
    assert shown["origin"]["kv.blocks"] == "derived"
    assert "throughput.output_tokens_per_s" not in shown["origin"]


def test_rates_over_the_recording() -> None:
    """Tokens a second between recorded scrapes, at their recorded times."""
    from kvtui.live.prometheus import parse
    from kvtui.live.servers.vllm import reading_of
    from kvtui.live.watch import Watch

    watch = None
    for scrape in scrapes():
        page = parse((MAIN / scrape["file"]).read_text(), prefixes=("vllm:",))
        if watch is None:
            watch = Watch("s", reading_of(page), scrape["t"])
        shown = watch.take(reading_of(page), scrape["t"])
        rate = shown.rates["output_tokens_per_s"].value
        assert rate is None or rate >= 0
    assert shown.restarts == 0
    assert shown.totals["output_tokens"].value == scrape["values"][f"vllm:generation_tokens_total{LABELS}"]
