"""SGLang: `/v1/loads` where it is, `/metrics` where it was asked for (--enable-metrics), else `/server_info`.

The gauges are renewed every 40 decode steps or so (observability/metrics_collector.py there): they move in
steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvtui.live.fetch import FetchError
from kvtui.live.numbers import UNKNOWN, Number, derived, reported
from kvtui.live.prometheus import Page, parse
from kvtui.live.reading import Part, Reading, averaged, counters_of, durations_of, parts_of, summed
from kvtui.live.servers.pages import (
    Pages,
    Server,
    all_known,
    mapping,
    number,
    optional_json,
    optional_text,
    rows,
    text,
)

PREFIX: Final = "sglang:"
_PREFIXES: Final = (PREFIX, "process_start_time_seconds")
_LOADS: Final = "/v1/loads?include=core"
_RUNNING: Final = ("sglang:num_running_reqs",)
_WAITING: Final = ("sglang:num_queue_reqs",)
_USAGE: Final = ("sglang:token_usage",)
_COUNTERS: Final = {
    "preemptions": ("sglang:num_retracted_requests_total",),
    "finished": ("sglang:num_requests_total",),
    "prompt_tokens": ("sglang:prompt_tokens_total",),
    "output_tokens": ("sglang:generation_tokens_total",),
}
_DURATIONS: Final = {
    "ttft_s": ("sglang:time_to_first_token_seconds",),
    "tpot_s": ("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"),
    "e2e_s": ("sglang:e2e_request_latency_seconds",),
}


class SglangServer:
    """Settings are asked for once; which pages there are is found out at the first look."""

    def __init__(self, pages: Pages, *, metrics: bool, loads: bool) -> None:
        self._pages = pages
        self._metrics = metrics
        self._loads = loads
        self._info = _settings(pages)

    def read(self) -> Reading:
        if not (self._metrics or self._loads):
            return self._settings_only()
        page = parse(optional_text(self._pages, "/metrics") if self._metrics else "", prefixes=_PREFIXES)
        answer = mapping(self._pages.json(_LOADS)) if self._loads else {}
        return reading_of(page, answer, self._info)

    def _settings_only(self) -> Reading:
        info = _settings(self._pages)
        if not info:
            raise FetchError(f"{self._pages.name} no longer tells its settings")
        return reading_of(Page({}, 0), {}, info)


def detect(pages: Pages, metrics: str) -> Server | None:
    loads = bool(rows(mapping(optional_json(pages, _LOADS)).get("loads")))
    if PREFIX in metrics or loads or "max_total_num_tokens" in _settings(pages):
        return SglangServer(pages, metrics=PREFIX in metrics, loads=loads)
    return None


def _settings(pages: Pages) -> Mapping[str, Any]:
    return mapping(optional_json(pages, "/server_info") or optional_json(pages, "/get_server_info"))


def reading_of(page: Page, answer: Mapping[str, Any], info: Mapping[str, Any]) -> Reading:
    """What the pages say; `/v1/loads` wins where both have a figure, because it is newer."""
    loads = rows(answer.get("loads"))
    parts = _load_parts(loads) or parts_of(page, "dp_rank", running=_RUNNING, waiting=_WAITING, usage=_USAGE)
    pool = _first(_sum(loads, "max_total_num_tokens"), page.sum("sglang:max_total_num_tokens"))
    pool = _first(pool, number(info.get("max_total_num_tokens")))
    size = _first(number(info.get("page_size")), page.sum("sglang:page_size"))
    return Reading(
        kind="sglang",
        model=page.label("model_name", *_RUNNING)
        or text(info.get("served_model_name") or info.get("model_path")),
        version=text(answer.get("version")) or text(info.get("version")),
        running=summed(part.running for part in parts),
        waiting=summed(part.waiting for part in parts),
        usage=averaged(part.usage for part in parts),
        cached=derived(_share(page.sum("sglang:kv_evictable_tokens"), pool)),
        blocks=derived(None if pool is None or not size else pool // size),
        block_size=reported(size),
        pool_tokens=reported(pool),
        max_running=reported(_sum(loads, "max_running_requests")),
        hit_rate=_mean(loads, page, "cache_hit_rate"),
        output_tokens_per_s=reported(
            _first(_sum(loads, "gen_throughput"), page.sum("sglang:gen_throughput"))
        ),
        counters=counters_of(page, _COUNTERS),
        durations=durations_of(page, _DURATIONS),
        parts=parts if len(parts) > 1 else (),
        started=page.sum("process_start_time_seconds"),
        mark=hash((page.mark, str(loads))),
    )


def _load_parts(loads: list[Mapping[str, Any]]) -> tuple[Part, ...]:
    keys = ("num_running_reqs", "num_waiting_reqs", "token_usage")
    return tuple(Part(str(load.get("dp_rank", "")), *(number(load.get(k)) for k in keys)) for load in loads)


def _sum(loads: list[Mapping[str, Any]], key: str) -> float | None:
    values = all_known(number(load.get(key)) for load in loads)
    return sum(values) if values else None


def _mean(loads: list[Mapping[str, Any]], page: Page, key: str) -> Number:
    values = [number(load.get(key)) for load in loads]
    values = values or [sample.value for sample in page.get(f"sglang:{key}")]
    return averaged(values) if all_known(values) else UNKNOWN


def _first(a: float | None, b: float | None) -> float | None:
    return b if a is None else a


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
