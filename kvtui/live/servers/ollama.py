"""Ollama: which model is loaded and how much of it is in GPU memory (`/api/ps`); nothing about its batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvtui.live.fetch import FetchError
from kvtui.live.reading import Reading
from kvtui.live.servers.pages import Pages, Server, mapping, number, optional_json, rows, text


class OllamaServer:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._version = text(mapping(optional_json(pages, "/api/version")).get("version"))

    def read(self) -> Reading:
        answer = self._pages.json("/api/ps")
        if not _is_list(answer):
            raise FetchError(f"{self._pages.name}/api/ps no longer lists models")
        return reading_of(answer, version=self._version)


def detect(pages: Pages, metrics: str) -> Server | None:
    return OllamaServer(pages) if _is_list(optional_json(pages, "/api/ps")) else None


def _is_list(answer: object) -> bool:
    return isinstance(mapping(answer).get("models"), list)


def reading_of(answer: object, *, version: str | None = None) -> Reading:
    models = rows(mapping(answer).get("models"))
    return Reading(
        kind="ollama",
        model=text(models[0].get("name")) if models else None,
        version=version,
        mark=hash(str(answer)),
        notes=(
            *(f"{model.get('name')}: {_share(model):.0%} in GPU memory" for model in models if _known(model)),
            "this server publishes neither batch, queue nor KV use",
        ),
    )


def _known(model: Mapping[str, Any]) -> bool:
    return bool(number(model.get("size"))) and number(model.get("size_vram")) is not None


def _share(model: Mapping[str, Any]) -> float:
    return float(model["size_vram"] / model["size"])
