"""Text Generation Inference: batch and queue; it publishes nothing about KV memory."""

from __future__ import annotations

from typing import Final

from kvtui.live.numbers import reported
from kvtui.live.prometheus import Page, parse
from kvtui.live.reading import Reading, counters_of, durations_of
from kvtui.live.servers.pages import Pages, Server, mapping, optional_json, text

PREFIX: Final = "tgi_"
_COUNTERS: Final = {
    "finished": ("tgi_request_success",),
    "prompt_tokens": ("tgi_request_input_length_sum",),
    "output_tokens": ("tgi_request_generated_tokens_sum",),
}
_DURATIONS: Final = {
    "tpot_s": ("tgi_request_mean_time_per_token_duration",),
    "e2e_s": ("tgi_request_duration",),
}


class TgiServer:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        info = mapping(optional_json(pages, "/info"))
        self._model, self._version = text(info.get("model_id")), text(info.get("version"))

    def read(self) -> Reading:
        page = parse(self._pages.text("/metrics"), prefixes=(PREFIX, "process_start_time_seconds"))
        return reading_of(page, model=self._model, version=self._version)


def detect(pages: Pages, metrics: str) -> Server | None:
    return TgiServer(pages) if f"\n{PREFIX}" in f"\n{metrics}" else None


def reading_of(page: Page, *, model: str | None = None, version: str | None = None) -> Reading:
    return Reading(
        kind="tgi",
        model=model,
        version=version,
        running=reported(page.sum("tgi_batch_current_size")),
        waiting=reported(page.sum("tgi_queue_size")),
        counters=counters_of(page, _COUNTERS),
        durations=durations_of(page, _DURATIONS),
        started=page.sum("process_start_time_seconds"),
        mark=page.mark,
        notes=("this server publishes nothing about KV memory",),
    )
