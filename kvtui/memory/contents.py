"""What the blocks of a pool contain: keys of content that others can meet, and who holds such a block.

Blocks with a key stand in a tree of prefixes, where a stretch of them costs hardly more than one. What that
cannot hold, or has to be asked about block by block, stands in maps in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat, takewhile

from kvtui.memory.prefixes import PrefixTree


class BlockContents:
    """Keyed blocks, held or free. Where a free one stands in the queue is an absolute place."""

    def __init__(self) -> None:
        self.forgotten = 0  # blocks that others could have met and that lost their content
        self.shared = 0  # references beyond the first, over all blocks
        self._extra: dict[int, int] = {}  # block -> references beyond the first, outside the tree
        self._key_of: dict[int, int] = {}
        self._block_of: dict[int, int] = {}  # key -> the oldest block with it
        self._twins: dict[int, list[int]] = {}  # key -> further blocks with it, oldest first
        self._place: dict[int, int] = {}  # keyed block in the queue -> absolute place
        self._tree = PrefixTree()  # of keyed blocks that are not in these maps

    # ---- what is known

    def find(self, key: int) -> int | None:
        """The oldest block with this content, or None."""
        return self._block_of.get(key)

    def find_all(self, keys: Sequence[int], most: int) -> list[int]:
        """The oldest blocks with these contents (`most` at most), up to the first that no block has."""
        blocks = self._tree.find(keys, most)
        at = len(blocks)
        if at < most and self._block_of:
            blocks += takewhile(bool, map(self._block_of.get, keys[at:most], repeat(0)))
        return blocks

    def idle_among(self, keys: Sequence[int], blocks: Sequence[int]) -> int:
        """How many of the blocks found for the first keys are free."""
        found, idle = self._tree.idle_among(keys, len(blocks))
        return idle + sum(map(self._place.__contains__, blocks[found:]))

    def idle(self, block: int) -> bool:
        """Whether a keyed block is free (in the queue)."""
        return block in self._place

    @property
    def extra(self) -> dict[int, int]:
        """Block -> references beyond the first."""
        self.dissolve()
        return self._extra

    @property
    def named(self) -> int:
        """Blocks that have a key, free or held."""
        return len(self._key_of) + self._tree.count

    def key_of(self, block: int) -> int | None:
        """The key a block stands in the map with, or None."""
        return self._key_of.get(block)

    # ---- coming to know

    def publish(self, owner: int, first: int, blocks: list[int], keys: list[int]) -> None:
        """Put full blocks of a request into the map, its `first` blocks stand there already; a key that is
        there already gets a twin."""
        tree = self._tree
        if tree.depth(owner) == first:
            for key, block, place, holders in tree.clash(owner, keys[0]):
                self._enter(key, block, place, holders)
            if keys[0] not in self._block_of:
                tree.add(owner, keys, blocks)
                return
        self.register(blocks, keys)

    def register(self, blocks: Sequence[int], keys: Sequence[int]) -> None:
        """Put full blocks into the map; a key that is there already gets a twin."""
        self._key_of.update(zip(blocks, keys, strict=True))
        if self._block_of.keys().isdisjoint(keys):
            self._block_of.update(zip(keys, blocks, strict=True))
            return
        for block, key in zip(blocks, keys, strict=True):
            if self._block_of.setdefault(key, block) != block:
                self._twins.setdefault(key, []).append(block)

    def rename(self, block: int, key: int) -> None:
        """Put a full block into the map, under no other key than this."""
        if block in self._key_of:
            self._unname(block)
        self.register((block,), (key,))

    def dissolve(self) -> None:
        """From the tree into the maps, where each block can be asked about. No effect that could be seen."""
        for key, block, place, holders in self._tree.dissolve():
            self._enter(key, block, place, holders)

    def _enter(self, key: int, block: int, place: int, holders: int) -> None:
        """A block that was in the tree stands in the maps."""
        self._key_of[block] = key
        self._block_of[key] = block
        if place >= 0:
            self._place[block] = place
        if holders > 1:
            self._extra[block] = holders - 1

    def __getstate__(self) -> dict[str, object]:
        self.dissolve()  # a tree can be too deep to be copied
        return self.__dict__

    # ---- forgetting

    def _forget(self, ids: Sequence[int]) -> None:
        """Those of the blocks that stand in the map leave it."""
        place, key_of, block_of = self._place, self._key_of, self._block_of
        named = list(filter(place.__contains__, ids))
        self.forgotten += len(named)
        for block in named:
            del place[block]
        if self._twins:
            for block in named:
                self._unname(block)
        else:
            for key in map(key_of.pop, named):
                del block_of[key]

    def _unname(self, block: int) -> None:
        key = self._key_of.pop(block)
        twins = self._twins.get(key)
        if twins is None:
            del self._block_of[key]
            return
        if self._block_of[key] == block:
            self._block_of[key] = twins.pop(0)
        else:
            twins.remove(block)
        if not twins:
            del self._twins[key]

    # ---- references

    def add_reference(self, block: int) -> None:
        """One more request holds a block that is in use."""
        self._extra[block] = self._extra.get(block, 0) + 1
        self.shared += 1

    def drop(self, block: int) -> bool:
        """Give up one of several references; False (and no effect) if it was the only one."""
        extra = self._extra.get(block)
        if extra is None:
            return False
        self.shared -= 1
        if extra == 1:
            del self._extra[block]
        else:
            self._extra[block] = extra - 1
        return True

    def _check_keys(self) -> None:
        """Assert that keys and blocks agree, all of them being in the maps."""
        assert sum(self._extra.values()) == self.shared
        for key, block in self._block_of.items():
            assert self._key_of[block] == key
        assert len(self._key_of) == len(self._block_of) + sum(map(len, self._twins.values()))
