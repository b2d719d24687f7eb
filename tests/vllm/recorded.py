"""The real scheduler's decisions in brief: a digest of each recording, by release and kind of world.

The worlds are those of the campaign (`python -m tests.vllm.campaign --keep` writes the digests here), so that
they can be checked anywhere, without vLLM. Where a digest differs, the campaign tells the step.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.serving.worlds import World
from tests.vllm.compare import Decisions
from tests.vllm.more_worlds import KINDS as MORE_KINDS
from tests.vllm.more_worlds import STATE_KINDS, more_world
from tests.vllm.worlds import world

FOLDER = Path(__file__).with_name("recordings")
LENGTH = 8  # hex digits
REFUSED = "-" * LENGTH  # vLLM does not accept the world
KINDS = ("plain", *MORE_KINDS, *STATE_KINDS)


def kind_name(kind: str, *, asynchronous: bool) -> str:
    """What the digests of these worlds stand under."""
    return f"{kind} async" if asynchronous else kind


def world_of(name: str, seed: int) -> World:
    """The world of a seed of a kind, see `kind_name`."""
    kind, asynchronous = name.removesuffix(" async"), name.endswith(" async")
    if kind == "plain":
        return world(seed, asynchronous=asynchronous)
    return more_world(seed, kind, asynchronous=asynchronous)


def digest(decisions: Decisions) -> str:
    """Of every field of every line, and of the order of the batches."""
    seen = hashlib.sha256()
    for line in decisions:
        seen.update(json.dumps([line, list(line["scheduled"])], sort_keys=True).encode())
    return seen.hexdigest()[:LENGTH]


class Store:
    """What was kept of a release: {"vllm": version, "shared": {case: digest}, kind: digests in a row}."""

    def __init__(self, release: str) -> None:
        self._file = FOLDER / f"digests-{release}.json"
        self._kept: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}

    @property
    def version(self) -> str:
        """Of the vLLM that decided."""
        found: str = self._kept["vllm"]
        return found

    @property
    def shared(self) -> dict[str, str]:
        """Digests of the shared cases."""
        found: dict[str, str] = self._kept.get("shared", {})
        return found

    @property
    def random(self) -> dict[str, list[str]]:
        """Digests of random worlds by kind, from seed 0 on."""
        return {kind: _cut(self._kept[kind]) for kind in self._kept if kind.removesuffix(" async") in KINDS}

    def keep(self, kind: str, seed: int, found: str) -> None:
        """Add the digest of a random world, or put it in place of an older one."""
        digests = _cut(self._kept.get(kind, ""))
        assert seed <= len(digests), f"{kind}: seeds from {len(digests)} on are next"
        digests[seed : seed + 1] = [found]
        self._kept[kind] = "".join(digests)

    def keep_shared(self, case: str, found: str) -> None:
        """Add the digest of a shared case."""
        self._kept.setdefault("shared", {})[case] = found

    def write(self, version: str) -> None:
        """Put everything into the file, with the version of vLLM that decided."""
        kept = dict(sorted((self._kept | {"vllm": version}).items()))
        self._file.write_text(json.dumps(kept, indent=1) + "\n")


def _cut(text: str) -> list[str]:
    return [text[at : at + LENGTH] for at in range(0, len(text), LENGTH)]
