"""KV cache events of vLLM and SGLang: which content is cached.

A batch is `[time, events, rank]`. An event is a map with its name under `type`, or, up to vLLM 0.20, an array
that begins with it (distributed/kv_events.py there). Keys and kinds that are unknown are passed over. Token
ids are what somebody typed: they are dropped here.

Events do not say where in memory a block is, who uses it, or that it was freed: a block leaves when its
content is evicted. The map below gives every cached block the first cell that is free, and nothing more is
meant by its place.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Hash = int | bytes
GPU: Final = ("GPU", None)  # media that are GPU memory; None: not said, by old releases
_FIELDS: Final = {  # of the array form, in order
    "BlockStored": ("block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium"),
    "BlockRemoved": ("block_hashes", "medium"),
    "AllBlocksCleared": (),
}


class Stored(NamedTuple):
    """Full blocks were given a key; in vLLM before their tokens are computed."""

    hashes: tuple[Hash, ...]
    block_size: int
    group: int = 0
    parent: Hash | None = None  # what the first one continues; None: nothing


class Removed(NamedTuple):
    """Blocks lost their key."""

    hashes: tuple[Hash, ...]
    group: int = 0


class Cleared(NamedTuple):
    """Everything was dropped."""


Change = Stored | Removed | Cleared


class Batch(NamedTuple):
    time_s: float  # by the server's clock
    changes: tuple[Change, ...]  # in GPU memory only


def unpack(payload: bytes) -> Batch:
    """A published payload. ValueError where it is none; ImportError without msgpack (extra `attach`)."""
    import msgpack

    try:
        return batch_of(msgpack.unpackb(payload, strict_map_key=False))
    except msgpack.UnpackException as error:
        raise ValueError(f"not a batch of KV events: {error}") from None


def batch_of(value: object) -> Batch:
    """A decoded payload; ValueError where it has another shape."""
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[1], list):
        raise ValueError("not a batch of KV events")
    try:
        return Batch(float(value[0]), tuple(_changes(value[1])))
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a batch of KV events: {error}") from None


def _changes(events: Sequence[Any]) -> Iterator[Change]:
    for event in events:
        fields = _named(event)
        if fields.get("medium") not in GPU:
            continue
        group = int(fields.get("group_idx") or 0)
        if fields["type"] == "BlockStored":
            yield Stored(_hashes(fields), int(fields["block_size"]), group, _parent(fields))
        elif fields["type"] == "BlockRemoved":
            yield Removed(_hashes(fields), group)
        elif fields["type"] == "AllBlocksCleared":
            yield Cleared()


def _named(event: Any) -> dict[str, Any]:
    if isinstance(event, dict):
        return {"type": None, **event}
    name, *values = event
    return {"type": name, **dict(zip(_FIELDS.get(name, ()), values, strict=False))}


def _hashes(fields: dict[str, Any]) -> tuple[Hash, ...]:
    hashes = tuple(fields["block_hashes"])
    if not all(isinstance(each, int | bytes) for each in hashes):
        raise TypeError("a block hash is neither a number nor bytes")
    return hashes


def _parent(fields: dict[str, Any]) -> Hash | None:
    parent: object = fields.get("parent_block_hash")
    if parent is not None and not isinstance(parent, int | bytes):
        raise TypeError("the hash of a parent is neither a number nor bytes")
    return parent


class ContentMap:
    """Cached content at cells given here. The same content may be there twice, and goes copy by copy."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.block_size: int | None = None
        self.beyond = 0  # blocks for which there was no cell: a sign of events that were missed
        self._places: dict[tuple[int, Hash], list[int]] = {}
        self._free = list(range(blocks))
        self._taken = np.zeros(blocks, np.bool_)

    @property
    def cached(self) -> int:
        """Blocks with cached content, copies counted."""
        return self.blocks - len(self._free)

    @property
    def contents(self) -> int:
        """Different ones."""
        return len(self._places)

    def taken(self) -> NDArray[np.bool_]:
        """Which cells hold something; a copy."""
        return self._taken.copy()

    def apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if isinstance(change, Stored):
                self.block_size = change.block_size
                for each in change.hashes:
                    self._store((change.group, each))
            elif isinstance(change, Removed):
                for each in change.hashes:
                    self._remove((change.group, each))
            else:
                self.clear()

    def clear(self) -> None:
        self._places.clear()
        self._free = list(range(self.blocks))
        self._taken = np.zeros(self.blocks, np.bool_)
        self.beyond = 0

    def resize(self, blocks: int) -> None:
        """The server has another number of blocks: what is known gets new cells."""
        known = [key for key, places in self._places.items() for _ in places]
        self.blocks = blocks
        self.clear()
        for key in known:
            self._store(key)

    def _store(self, key: tuple[int, Hash]) -> None:
        if not self._free:
            self.beyond += 1
            return
        cell = heapq.heappop(self._free)
        self._taken[cell] = True
        self._places.setdefault(key, []).append(cell)

    def _remove(self, key: tuple[int, Hash]) -> None:
        places = self._places.get(key)
        if places is None:  # stored before anybody looked
            return
        cell = places.pop()
        self._taken[cell] = False
        heapq.heappush(self._free, cell)
        if not places:
            del self._places[key]
