"""Cached blocks as the chains that they form. No hash is kept longer than its block is remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from kvtui.live.kvevents import Hash

MOST: Final = 500_000  # contents that are remembered, those too that are cached no more


class Block:
    """One content. `number` stands for everything up to its end, in order of first sight."""

    __slots__ = ("copies", "depth", "gone_s", "number", "parent")

    def __init__(self, number: int, parent: Block | None, depth: int | None) -> None:
        self.number = number
        self.parent = parent
        self.depth = depth  # blocks up to its end; None: nobody saw where its chain begins
        self.copies = 0  # that are cached
        self.gone_s = 0.0  # when the last one was evicted

    def numbers(self) -> list[int]:
        """Of the whole chain, from its start."""
        found = []
        at: Block | None = self
        while at is not None:
            found.append(at.number)
            at = at.parent
        return found[::-1]


class Blocks:
    """Those of one server, by hash; the ones not met for longest are forgotten beyond `most`."""

    def __init__(self, *, most: int = MOST) -> None:
        self._known: OrderedDict[Hash, Block] = OrderedDict()  # whose oldest is found at once
        self._number = 0
        self._most = most

    def __len__(self) -> int:
        return len(self._known)

    def parent(self, key: Hash | None) -> Block | None:
        """The block of that hash, without a known start where nobody saw it; None where a chain begins."""
        return None if key is None else self._met(key) or self._new(key, None, None)

    def store(self, parent: Block | None, hashes: Sequence[Hash]) -> list[Block]:
        """What hangs on `parent`, one on the other. Copies are not counted yet."""
        stored = []
        for key in hashes:
            block = self._met(key)
            if block is None:
                block = self._new(key, parent, _below(parent))
            elif block.depth is None:  # whose start is known by now
                block.parent, block.depth = parent, _below(parent)
            stored.append(block)
            parent = block
        return stored

    def remove(self, hashes: Iterable[Hash], time_s: float) -> None:
        """One copy of each is gone."""
        for key in hashes:
            block = self._known.get(key)
            if block is not None and block.copies:
                block.copies -= 1
                block.gone_s = time_s

    def clear(self) -> None:
        """Nothing is cached any more."""
        for block in self._known.values():
            block.copies = 0

    def forget(self) -> None:
        """All of it: the same hash may stand for something else from here on."""
        self._known.clear()

    def _met(self, key: Hash) -> Block | None:
        block = self._known.pop(key, None)
        if block is not None:
            self._known[key] = block
        return block

    def _new(self, key: Hash, parent: Block | None, depth: int | None) -> Block:
        block = self._known[key] = Block(self._number, parent, depth)
        self._number += 1
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return block


def _below(parent: Block | None) -> int | None:
    if parent is None:
        return 1
    return None if parent.depth is None else parent.depth + 1
