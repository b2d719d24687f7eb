"""The block pool: a free queue in eviction order, and the map from content keys to blocks.

Blocks are ids 1..n; 0 stands for no block. The free queue is kept in two parts that together are vLLM's one
queue. `stack` is its front: blocks that never carried a key, the last freed comes out first. `back` is the
rest: first the blocks that were never used, then cached ones, least recently used first; an id 0 marks a
block that was taken out of the middle by a hit. A place in `back` is absolute: it does not move when the
used part is cut off.

Blocks with a key stand in a tree of prefixes, where a stretch of them costs hardly more than one. What that
cannot hold, or has to be asked about block by block, stands in maps in its place.

Not every cached block has a key. A block whose content only one request can ever meet (its *private* blocks)
needs none: how many of them are cached, and how many survive after a preemption, follows from the place of
its segment in the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat, takewhile

from kvtui.memory.ops import OpKind, OpLog
from kvtui.memory.prefixes import PrefixTree

CUT = 1 << 16  # used entries of `back` before they are cut off


class BlockPool:
    """`n` blocks, all free and never used.

    `lifo`: freed blocks without a key go to the front of the queue (vLLM 0.24 and later); else to its back.
    """

    def __init__(self, n: int, *, lifo: bool = True) -> None:
        self.size = n
        self.lifo = lifo
        self.log: OpLog | None = None
        self.free = n
        self.evictions = 0  # cached blocks that lost their content
        self.forgotten = 0  # of these, how many others could have met
        self.shared = 0  # references beyond the first, over all blocks
        self._extra: dict[int, int] = {}  # block -> references beyond the first, outside the tree
        self._stack: list[int] = []
        self._back = list(range(1, n + 1))
        self._head = 0  # index in _back of the next block out
        self._base = 0  # absolute place of _back[0]
        self._unused = n  # blocks at the head of _back that were never used
        self._holes = 0  # blocks taken out of the middle of _back
        self._plain: set[int] = set()  # in _back without a key though they were used (not lifo)
        self._key_of: dict[int, int] = {}
        self._block_of: dict[int, int] = {}  # key -> the oldest block with it
        self._twins: dict[int, list[int]] = {}  # key -> further blocks with it, oldest first
        self._place: dict[int, int] = {}  # keyed block in the queue -> absolute place
        self._tree = PrefixTree()  # of keyed blocks that are not in these maps

    # ---- what is where

    @property
    def cached(self) -> int:
        """Free blocks that still carry content."""
        return self.free - len(self._stack) - self._unused - len(self._plain)

    @property
    def extra(self) -> dict[int, int]:
        """Block -> references beyond the first."""
        self.dissolve()
        return self._extra

    def queue(self) -> list[int]:
        """The whole free queue, next out first. O(n): for tests and recordings."""
        return self._stack[::-1] + [b for b in self._back[self._head :] if b]

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
    def named(self) -> int:
        """Blocks that have a key, free or held."""
        return len(self._key_of) + self._tree.count

    def key_of(self, block: int) -> int | None:
        """The key a block stands in the map with, or None."""
        return self._key_of.get(block)

    def survivors(self, place: int, count: int) -> int:
        """How many blocks of a private segment of `count` at `place` are still in the queue."""
        return max(0, place + count - max(place, self._base + self._head))

    # ---- taking

    def take(self, n: int) -> list[int]:
        """Hand out the next `n` blocks of the queue, evicting what they held. Needs n <= free."""
        assert n <= self.free, f"{n} blocks of {self.free}"
        self.free -= n
        stack = self._stack
        if not stack:
            return self._take_back(n)
        rest = len(stack) - n
        if rest >= 0:
            ids = stack[: rest - 1 : -1] if rest else stack[::-1]
            del stack[rest:]
            return ids
        ids = stack[::-1]
        stack.clear()
        ids += self._take_back(-rest)
        return ids

    def _take_back(self, n: int) -> list[int]:
        """First blocks that were never used, then those with content, evicting it."""
        head, back, unused = self._head, self._back, self._unused
        ids = back[head : head + n]
        self._head = head = head + n
        if n <= unused:
            self._unused = unused - n
            return ids
        self._unused = 0
        while self._holes and 0 in ids:
            full = [b for b in ids if b]
            self._holes -= len(ids) - len(full)
            more = n - len(full)
            ids = full + back[head : head + more]
            self._head = head = head + more
        if self._tree.count:
            self.forgotten += self._tree.evict(self._base + head)
        if self._place or self._plain or self.log is not None:
            self._lose(ids[unused:])
        else:
            self.evictions += n - unused
        if head > CUT and head * 2 > len(back):
            del back[:head]
            self._base += head
            self._head = 0
        return ids

    def _lose(self, ids: Sequence[int]) -> None:
        """Blocks that leave the back lose their content."""
        lost = ids
        if self._plain:
            lost = [b for b in ids if b not in self._plain]
            self._plain.difference_update(ids)
        self.evictions += len(lost)
        if self._place:
            self._forget(ids)
        if self.log is not None:
            self.log.add(OpKind.EVICT, -1, lost)

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

    # ---- sharing

    def share(self, block: int) -> None:
        """One more request holds a keyed block: out of the queue if it was free, else one reference more."""
        place = self._place.pop(block, None)
        if place is None:
            self.add_reference(block)
        else:
            self._back[place - self._base] = 0
            self._holes += 1
            self.free -= 1

    def share_all(self, owner: int, keys: Sequence[int], blocks: Sequence[int]) -> None:
        """One more request holds the blocks that were found for its first keys."""
        back, base = self._back, self._base
        shared, woken = self._tree.hold(owner, keys, len(blocks))
        self.shared += shared
        for place, n in woken:
            back[place - base : place - base + n] = [0] * n
            self._holes += n
            self.free -= n
        rest = blocks[self._tree.depth(owner) :]
        for block, place in zip(rest, map(self._place.pop, rest, repeat(-1)), strict=True):
            if place < 0:
                self.add_reference(block)
            else:
                back[place - base] = 0
                self._holes += 1
                self.free -= 1

    def add_reference(self, block: int) -> None:
        """One more request holds a block that is in use."""
        self._extra[block] = self._extra.get(block, 0) + 1
        self.shared += 1

    def revive(self, place: int, count: int, n: int) -> None:
        """Take the first `n` blocks (logical order) of a private segment out of the queue."""
        end = place + count - self._base
        self._back[end - n : end] = [0] * n
        self._holes += n
        self.free -= n

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

    def disown(self, block: int) -> None:
        """A block in use that stands in the map loses its content: it is written anew."""
        if block in self._key_of:
            self._unname(block)
            self.evictions += 1
            self.forgotten += 1
            if self.log is not None:
                self.log.add(OpKind.EVICT, -1, (block,))

    # ---- giving back

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

    def give_back(self, owner: int, table: list[int], keyed: int, hashed: int) -> int:
        """Free a block table, last block first; blocks that others hold stay with them.

        The leading `keyed` blocks stand in the map, those up to `hashed` are private content, the rest
        carries none. Returns the place of the private segment in the queue.
        """
        tail, private = table[hashed:], table[keyed:hashed]
        if self._extra:
            tail = self._without_shared(owner, tail)
        if self.lifo:
            self._stack += tail
        else:
            self._plain.update(tail)
            self._back += tail[::-1]
        place = self._base + len(self._back)
        self._back += private[::-1]
        self.free += len(tail) + len(private)
        front = self._keep(owner, table[:keyed]) if keyed else []
        if self.log is not None:
            self.log.add(OpKind.FREE, owner, tail)
            self.log.add(OpKind.CACHE, owner, front + private)
        return place

    def _keep(self, owner: int, keyed: list[int]) -> list[int]:
        """Free blocks that have a key, last one first; returns those nobody else holds."""
        depth = self._tree.depth(owner)
        assert depth <= len(keyed), f"{depth} blocks in the tree, {len(keyed)} with a key"
        mine = self._without_shared(owner, keyed[depth:] if depth else keyed)
        last_first = mine[::-1]
        self._place.update(zip(last_first, count(self._base + len(self._back)), strict=False))
        self._back += last_first
        self.free += len(mine)
        return self._give_up(owner, keyed[:depth]) + mine if depth else mine

    def _give_up(self, owner: int, path: list[int]) -> list[int]:
        """Free blocks that stand in the tree, last one first; returns those nobody else holds."""
        released, shared = self._tree.release(owner, self._base + len(self._back))
        self._back += released
        self.free += len(released)
        self.shared -= shared
        mine = released[::-1]
        if self.log is not None and shared:
            free = set(mine)
            self.log.add(OpKind.DROP, owner, [block for block in path if block not in free])
        return mine

    def let_go(self, owner: int, blocks: Sequence[int]) -> None:
        """Give up a reference to each of the blocks, in this order, where all content has a key. Those that
        nobody else holds are free."""
        before = len(self._back)
        plain, dropped = [], []
        for block in blocks:
            if self.drop(block):
                dropped.append(block)
            elif block in self._key_of:
                self._place[block] = self._base + len(self._back)
                self._back.append(block)
            else:
                plain.append(block)
                if not self.lifo:
                    self._back.append(block)
        if self.lifo:
            self._stack += plain[::-1]
        else:
            self._plain.update(plain)
        self.free += len(blocks) - len(dropped)
        if self.log is not None:
            kept = [b for b in self._back[before:] if b in self._key_of]
            self.log.add(OpKind.DROP, owner, dropped)
            self.log.add(OpKind.FREE, owner, plain)
            self.log.add(OpKind.CACHE, owner, kept)

    def _without_shared(self, owner: int, blocks: list[int]) -> list[int]:
        extra = self._extra
        if extra.keys().isdisjoint(blocks):
            return blocks
        # Last block first: the order in which references are given up.
        mine = [b for b in reversed(blocks) if b not in extra or not self.drop(b)][::-1]
        if self.log is not None and len(mine) < len(blocks):
            kept = set(mine)
            self.log.add(OpKind.DROP, owner, [b for b in blocks if b not in kept])
        return mine

    def check(self) -> None:
        """Assert the invariants. O(n)."""
        self.dissolve()
        queue = self.queue()
        assert len(queue) == len(set(queue)) == self.free, "free queue and count differ"
        assert all(1 <= b <= self.size for b in queue)
        assert sum(self._extra.values()) == self.shared
        assert not self._extra.keys() & set(queue), "a block in use stands in the queue"
        for key, block in self._block_of.items():
            assert self._key_of[block] == key
        assert len(self._key_of) == len(self._block_of) + sum(map(len, self._twins.values()))
        for block, place in self._place.items():
            assert self._back[place - self._base] == block
            assert block in self._key_of
