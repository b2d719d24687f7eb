"""TensorRT-LLM: trtllm-serve (`/prometheus/metrics`) and Triton with its backend for it (`/metrics`)."""

from __future__ import annotations

from typing import Final

from kvtui.live.numbers import UNKNOWN, derived, reported
from kvtui.live.prometheus import Page, parse
from kvtui.live.reading import Reading, counters_of, durations_of
from kvtui.live.servers.pages import Pages, Server, mapping, optional_json, optional_text, text

PREFIXES: Final = ("trtllm_", "nv_trt_llm_", "process_start_time_seconds")
_OWN: Final = "/prometheus/metrics"
_COUNTERS: Final = {"finished": ("trtllm_request_success_total",)}
_DURATIONS: Final = {
    "ttft_s": ("trtllm_time_to_first_token_seconds",),
    "tpot_s": ("trtllm_time_per_output_token_seconds",),
    "e2e_s": ("trtllm_e2e_request_latency_seconds",),
}


class TensorRtServer:
    def __init__(self, pages: Pages, path: str) -> None:
        self._pages = pages
        self._path = path
        self._version = text(mapping(optional_json(pages, "/version")).get("version"))

    def read(self) -> Reading:
        page = parse(self._pages.text(self._path), prefixes=PREFIXES)
        triton = "nv_trt_llm_kv_cache_block_metrics" in page or "nv_trt_llm_request_metrics" in page
        return triton_reading(page) if triton else reading_of(page, version=self._version)


def detect(pages: Pages, metrics: str) -> Server | None:
    if any(prefix in metrics for prefix in PREFIXES[:2]):
        return TensorRtServer(pages, "/metrics")
    return TensorRtServer(pages, _OWN) if PREFIXES[0] in optional_text(pages, _OWN) else None


def reading_of(page: Page, *, version: str | None = None) -> Reading:
    """What trtllm-serve says."""
    blocks, size = page.sum("trtllm_kv_cache_max_blocks"), page.sum("trtllm_kv_cache_tokens_per_block")
    used = page.sum("trtllm_kv_cache_used_blocks")
    usage = reported(page.sum("trtllm_kv_cache_utilization"))
    return Reading(
        kind="tensorrt-llm",
        model=page.label("model_name", "trtllm_num_requests_running", "trtllm_kv_cache_max_blocks"),
        version=version,
        running=reported(page.sum("trtllm_num_requests_running")),
        waiting=reported(page.sum("trtllm_num_requests_waiting")),
        usage=derived(used / blocks) if usage == UNKNOWN and used is not None and blocks else usage,
        blocks=reported(blocks),
        block_size=reported(size),
        pool_tokens=derived(None if blocks is None or size is None else blocks * size),
        hit_rate=reported(page.sum("trtllm_kv_cache_hit_rate")),
        counters=counters_of(page, _COUNTERS),
        durations=durations_of(page, _DURATIONS),
        started=page.sum("process_start_time_seconds"),
        mark=page.mark,
    )


def triton_reading(page: Page) -> Reading:
    """What Triton says: one metric each, the figure's name in a label."""
    kv = _labelled(page, "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type")
    requests = _labelled(page, "nv_trt_llm_request_metrics", "request_type")
    blocks, size, used = kv.get("max"), kv.get("tokens_per"), kv.get("used")
    return Reading(
        kind="tensorrt-llm",
        model=page.label("model", "nv_trt_llm_request_metrics"),
        running=reported(requests.get("scheduled")),
        waiting=reported(requests.get("waiting")),
        usage=derived(used / blocks if used is not None and blocks else None),
        blocks=reported(blocks),
        block_size=reported(size),
        pool_tokens=derived(None if blocks is None or size is None else blocks * size),
        max_running=reported(requests.get("max")),
        mark=page.mark,
    )


def _labelled(page: Page, name: str, label: str) -> dict[str, float]:
    return {labels[label]: value for labels, value in page.get(name) if label in labels}
