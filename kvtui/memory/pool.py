"""The block pool: a free queue in eviction order, beside what the blocks contain.

Blocks are ids 1..n; 0 stands for no block. The free queue is kept in two parts that together are vLLM's one
queue. `stack` is its front: blocks that never carried a key, the last freed comes out first. `back` is the
rest: first the blocks that were never used, then cached ones, least recently used first; an id 0 marks a
block that was taken out of the middle by a hit. A place in `back` is absolute: it does not move when the
used part is cut off.

Not every cached block has a key. A block whose content only one request can ever meet (its *private* blocks)
needs none: how many of them are cached, and how many survive after a preemption, follows from the place of
its segment in the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, repeat

from kvtui.memory.contents import BlockContents
from kvtui.memory.ops import OpKind, OpLog

CUT = 1 << 16  # used entries of `back` before they are cut off


class BlockPool(BlockContents):
    """`n` blocks, all free and never used.

    `lifo`: freed blocks without a key go to the front of the queue (vLLM 0.24 and later); else to its back.
    """

    def __init__(self, n: int, *, lifo: bool = True) -> None:
        super().__init__()
        self.size = n
        self.lifo = lifo
        self.log: OpLog | None = None
        self.free = n
        self.evictions = 0  # cached blocks that lost their content
        self._stack: list[int] = []
        self._back = list(range(1, n + 1))
        self._head = 0  # index in _back of the next block out
        self._base = 0  # absolute place of _back[0]
        self._unused = n  # blocks at the head of _back that were never used
        self._holes = 0  # blocks taken out of the middle of _back
        self._plain: set[int] = set()  # in _back without a key though they were used (not lifo)

    # ---- what is where

    @property
    def cached(self) -> int:
        """Free blocks that still carry content."""
        return self.free - len(self._stack) - self._unused - len(self._plain)

    def queue(self) -> list[int]:
        """The whole free queue, next out first. O(n): for tests and recordings."""
        return self._stack[::-1] + [b for b in self._back[self._head :] if b]

    def survivors(self, place: int, count: int) -> int:
        """How many blocks of a private segment of `count` at `place` are still in the queue."""
        return max(0, place + count - max(place, self._base + self._head))

    # ---- taking

    def take(self, n: int) -> list[int]:
        """Hand out the next `n` blocks of the queue, evicting what they held. Needs n <= free."""
        self.free = free = self.free - n
        assert free >= 0, f"{n} blocks of {free + n}"
        stack = self._stack
        if not stack:
            return self._take_back(n)
        ids = stack[: -n - 1 : -1]  # the last ones, as far as there are some
        del stack[len(stack) - len(ids) :]
        n -= len(ids)
        return ids + self._take_back(n) if n else ids

    def _take_back(self, n: int) -> list[int]:
        """First blocks that were never used, then those with content, evicting it."""
        back, unused = self._back, self._unused
        head = self._head + n
        ids = back[self._head : head]
        self._head = head
        if unused:
            self._unused = max(unused - n, 0)
            if n <= unused:
                return ids
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

    def revive(self, place: int, count: int, n: int) -> None:
        """Take the first `n` blocks (logical order) of a private segment out of the queue."""
        end = place + count - self._base
        self._back[end - n : end] = [0] * n
        self._holes += n
        self.free -= n

    def disown(self, block: int) -> None:
        """A block in use that stands in the map loses its content: it is written anew."""
        if block in self._key_of:
            self._unname(block)
            self.evictions += 1
            self.forgotten += 1
            if self.log is not None:
                self.log.add(OpKind.EVICT, -1, (block,))

    # ---- giving back

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
        private.reverse()
        self._back += private
        self.free += len(tail) + len(private)
        front = self._keep(owner, table[:keyed]) if keyed else []
        if self.log is not None:
            self.log.add(OpKind.FREE, owner, tail)
            self.log.add(OpKind.CACHE, owner, front + private[::-1])
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
        self._check_keys()
        assert not self._extra.keys() & set(queue), "a block in use stands in the queue"
        for block, place in self._place.items():
            assert self._back[place - self._base] == block
            assert block in self._key_of
