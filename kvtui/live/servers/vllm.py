"""vLLM: `/metrics` of every release since 0.8, under old and new names (v1/metrics/loggers.py there)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvtui.live.numbers import UNKNOWN, Number, derived, reported
from kvtui.live.prometheus import Page, parse
from kvtui.live.reading import Reading, averaged, counters_of, durations_of, parts_of, summed
from kvtui.live.servers.pages import Pages, Server, mapping, number, optional_json, rows, text

PREFIX: Final = "vllm:"
_PREFIXES: Final = (PREFIX, "process_start_time_seconds")
_RUNNING: Final = ("vllm:num_requests_running",)
_WAITING: Final = ("vllm:num_requests_waiting",)
_USAGE: Final = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")  # the second up to 0.10
_COUNTERS: Final = {
    "preemptions": ("vllm:num_preemptions_total", "vllm:num_preemptions"),
    "finished": ("vllm:request_success_total", "vllm:request_success"),
    "prompt_tokens": ("vllm:prompt_tokens_total", "vllm:prompt_tokens"),
    "output_tokens": ("vllm:generation_tokens_total", "vllm:generation_tokens"),
    "query_tokens": ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    "hit_tokens": ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
}
_DURATIONS: Final = {
    "ttft_s": ("vllm:time_to_first_token_seconds",),
    "tpot_s": (  # of a request; up to 0.12 only of each token
        "vllm:request_time_per_output_token_seconds",
        "vllm:time_per_output_token_seconds",
        "vllm:inter_token_latency_seconds",
    ),
    "e2e_s": ("vllm:e2e_request_latency_seconds",),
}
_CONFIG: Final = "vllm:cache_config_info"
_V0: Final = "vllm:cpu_cache_usage_perc"  # only the engine before V1 has it


class VllmServer:
    """Reads `/metrics`; version and model list are asked for once, and again when the process is another."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._facts: tuple[object, str | None, Mapping[str, Any]] | None = None

    def read(self) -> Reading:
        page = parse(self._pages.text("/metrics"), prefixes=_PREFIXES)
        started = page.sum("process_start_time_seconds")
        version, model = self._about(started)
        return reading_of(page, version=version, model=text(model.get("id")), max_len=_length(model))

    def _about(self, started: float | None) -> tuple[str | None, Mapping[str, Any]]:
        if self._facts is None or self._facts[0] != started:
            version = text(mapping(optional_json(self._pages, "/version")).get("version"))
            models = rows(mapping(optional_json(self._pages, "/v1/models")).get("data"))
            self._facts = started, version, models[0] if models else {}
        return self._facts[1:]


def detect(pages: Pages, metrics: str) -> Server | None:
    return VllmServer(pages) if PREFIX in metrics else None


def _length(model: Mapping[str, Any]) -> int | None:
    length = number(model.get("max_model_len"))
    return int(length) if length is not None and length >= 2 else None


def reading_of(
    page: Page, *, version: str | None = None, model: str | None = None, max_len: int | None = None
) -> Reading:
    """What a page of vLLM says."""
    parts = parts_of(page, "engine", running=_RUNNING, waiting=_WAITING, usage=_USAGE)
    blocks, block_size = _pool(page, max(len(parts), 1))
    return Reading(
        kind="vllm",
        model=page.label("model_name", *_RUNNING) or model,
        version=version,
        running=summed(part.running for part in parts),
        waiting=summed(part.waiting for part in parts),
        usage=averaged(part.usage for part in parts),
        blocks=blocks,
        block_size=block_size,
        max_len=max_len,
        pool_tokens=derived(_product(blocks.value, block_size.value)),
        counters=counters_of(page, _COUNTERS),
        durations=durations_of(page, _DURATIONS),
        parts=parts if len(parts) > 1 else (),
        started=page.sum("process_start_time_seconds"),
        mark=page.mark,
        notes=(f"{len(parts)} engines: KV use is their mean",) if len(parts) > 1 else (),
    )


def _pool(page: Page, engines: int) -> tuple[Number, Number]:
    """Blocks that requests can have, and tokens in each. `num_gpu_blocks` counts all engines and in V1 one
    block of each that is never given out."""
    configs = page.get(_CONFIG)
    if not configs:
        return UNKNOWN, UNKNOWN
    labels = configs[0].labels
    blocks, size = _whole(labels.get("num_gpu_blocks")), _whole(labels.get("block_size"))
    kept = 0 if _V0 in page else engines
    return derived(None if blocks is None else blocks - kept), reported(size)


def _whole(text: str | None) -> float | None:
    return float(text) if text and text.isdecimal() else None  # "None" where it is not set


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a * b
