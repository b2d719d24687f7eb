"""Kinds of servers, and which one answers at an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kvtui.errors import KvtuiError
from kvtui.live.servers import llamacpp, ollama, sglang, tensorrt, tgi, vllm
from kvtui.live.servers.pages import Pages, Server, optional_text

KINDS: Final[tuple[Callable[[Pages, str], Server | None], ...]] = (
    vllm.detect,
    tensorrt.detect,
    tgi.detect,
    llamacpp.detect,
    sglang.detect,
    ollama.detect,
)
KNOWN: Final = "vLLM, SGLang, llama.cpp, TensorRT-LLM, TGI and Ollama"


class UnknownServer(KvtuiError):
    """Something answers that is no server known here."""


def detect(pages: Pages) -> Server:
    """The server behind an address; FetchError where nobody answers."""
    metrics = optional_text(pages, "/metrics")
    for detect_kind in KINDS:
        if server := detect_kind(pages, metrics):
            return server
    raise UnknownServer(
        f"{pages.name} answers, but publishes nothing that {KNOWN} publish",
        hint="is it the server itself, and are its metrics switched on (--enable-metrics, --metrics)?",
    )


__all__ = ["KNOWN", "Pages", "Server", "UnknownServer", "detect"]
