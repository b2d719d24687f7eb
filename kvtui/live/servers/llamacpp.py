"""llama.cpp's server: `/slots`, and `/metrics` where it was asked for (--metrics); tools/server there.

Nothing it publishes says whether each slot has memory of its own or all share one. More tokens held than one
slot may use proves the first; else the user has to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvtui.live.fetch import FetchError
from kvtui.live.numbers import UNKNOWN, derived, reported
from kvtui.live.prometheus import Page, parse
from kvtui.live.reading import Reading, Slot, counters_of
from kvtui.live.servers.pages import Pages, Server, mapping, number, optional_json, optional_text, rows, text

PREFIX: Final = "llamacpp:"
_COUNTERS: Final = {
    "prompt_tokens": ("llamacpp:prompt_tokens_total",),
    "output_tokens": ("llamacpp:tokens_predicted_total",),
}


class LlamaCppServer:
    """`split` is what the user says about the slots; None leaves it to what can be proved."""

    def __init__(self, pages: Pages, *, split: bool | None = None) -> None:
        self._pages = pages
        self.split = split
        props = mapping(optional_json(pages, "/props"))
        self._model = text(props.get("model_alias")) or text(props.get("model_path"))
        self._version = text(props.get("build_info"))

    def read(self) -> Reading:
        page = parse(optional_text(self._pages, "/metrics"), prefixes=(PREFIX,))
        slots = slots_of(optional_json(self._pages, "/slots"))
        if not slots and not page.get("llamacpp:requests_processing"):
            raise FetchError(f"{self._pages.name} no longer tells about its slots")
        if self.split is None and _proved_split(slots):
            self.split = True  # and so it stays
        return reading_of(page, slots, split=self.split, model=self._model, version=self._version)


def detect(pages: Pages, metrics: str) -> Server | None:
    found = PREFIX in metrics or slots_of(optional_json(pages, "/slots"))
    return LlamaCppServer(pages) if found else None


def slots_of(answer: object) -> tuple[Slot, ...]:
    """The slots in an answer of `/slots`. Text of prompts, which old releases put there, is not looked at."""
    slots = []
    for at, row in enumerate(rows(answer)):
        size = number(row.get("n_ctx"))
        if size is None:
            return ()
        generated = _generated(row)
        held = number(row.get("n_prompt_tokens"))
        cached = number(row.get("n_prompt_tokens_cache"))
        slots.append(
            Slot(
                number=int(number(row.get("id")) or at),
                tokens=int(held if held is not None else number(row.get("n_past")) or 0),
                size=int(size),
                busy=row.get("is_processing") is True,
                generated=int(generated),
                cached=None if cached is None else int(cached),
            )
        )
    return tuple(slots)


def _generated(row: Mapping[str, Any]) -> float:
    following = row.get("next_token")  # a list of one here, an object in the server's own README
    each = rows(following)[:1] or [mapping(following)]
    return number(each[0].get("n_decoded")) or 0


def _proved_split(slots: tuple[Slot, ...]) -> bool:
    return len(slots) == 1 or (bool(slots) and sum(slot.tokens for slot in slots) > slots[0].size)


def reading_of(
    page: Page, slots: tuple[Slot, ...], *, split: bool | None, model: str | None, version: str | None
) -> Reading:
    """What the pages say. An idle slot keeps its last tokens for reuse."""
    busy = sum(slot.busy for slot in slots)
    pool = _pool(slots, split)
    share = None if not pool else sum(slot.tokens for slot in slots if slot.busy) / pool
    kept = None if not pool else sum(slot.tokens for slot in slots if not slot.busy) / pool
    running = reported(page.sum("llamacpp:requests_processing"))
    return Reading(
        kind="llama.cpp",
        model=model,
        version=version,
        running=derived(busy) if slots and running == UNKNOWN else running,
        waiting=reported(page.sum("llamacpp:requests_deferred")),
        usage=derived(share),
        cached=derived(kept),
        pool_tokens=derived(pool),
        max_running=derived(len(slots) or None),
        counters=counters_of(page, _COUNTERS),
        slots=slots,
        split_slots=split,
        mark=hash((page.mark, slots)),
        notes=_notes(slots, split),
    )


def _pool(slots: tuple[Slot, ...], split: bool | None) -> float | None:
    if not slots or split is None:
        return None
    return float(sum(slot.size for slot in slots) if split else slots[0].size)


def _notes(slots: tuple[Slot, ...], split: bool | None) -> tuple[str, ...]:
    if slots and split is None:
        return ("the server does not tell whether slots share memory: say --slots split or --slots unified",)
    return ()
