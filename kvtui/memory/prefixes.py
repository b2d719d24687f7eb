"""Cached prefixes as a radix tree: blocks that follow each other in the same prompts are one node of it.

What a prompt shares, computes, gives back or loses is a few stretches of such nodes, however many blocks
these have. The tree holds every content once, and a request holds a path from the root; so the blocks that
nobody holds are the ends of nodes, and lose their content last block first. Whatever does not keep to that
(the same content computed twice) has to leave the tree, with all that follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class Idle:
    """Blocks [low, high) of a node that stand in a row in the free queue, the last one first, at `place`."""

    __slots__ = ("high", "low", "node", "place")

    def __init__(self, node: Node, place: int, low: int, high: int) -> None:
        self.node = node
        self.place = place
        self.low = low
        self.high = high


class Node:
    """Blocks behind those of its parent, with their keys."""

    __slots__ = ("blocks", "children", "held", "holders", "idle", "keys", "parent", "start")

    def __init__(self, parent: Node | None, start: int, keys: list[int], blocks: list[int]) -> None:
        self.parent = parent
        self.start = start  # blocks before it
        self.keys = keys
        self.blocks = blocks
        self.children: dict[int, Node] = {}  # by their first key
        self.holders: dict[int, int] = {}  # owner -> how many of its first blocks
        self.held = 0  # by whoever holds most
        self.idle: list[Idle] = []  # the rest, last blocks first

    def common(self, keys: Sequence[int], at: int, most: int) -> int:
        """How many of the node's keys, `most` at most, are those from `at` on; the first one is. A key stands
        for all before it."""
        own = self.keys
        if own[most - 1] == keys[at + most - 1]:
            return most
        equal, other = 1, most
        while other - equal > 1:
            middle = (equal + other) // 2
            if own[middle - 1] == keys[at + middle - 1]:
                equal = middle
            else:
                other = middle
        return equal

    def hold(self, owner: int, count: int) -> list[tuple[int, int]]:
        """One more owner of the first `count` blocks. Gives the (place, blocks) that were idle."""
        self.holders[owner] = count
        woken = []
        while self.held < count:
            idle = self.idle[-1]
            high = min(idle.high, count)
            woken.append((idle.place + idle.high - high, high - idle.low))
            idle.low = self.held = high
            if high == idle.high:
                self.idle.pop()
        return woken


class Released(NamedTuple):
    """Blocks that nobody holds any more, the last one first, and how many others still hold."""

    blocks: list[int]
    shared: int


class Left(NamedTuple):
    """A block that has left the tree: where it stands in the free queue (or -1), who holds it."""

    key: int
    block: int
    place: int
    holders: int


class PrefixTree:
    """Keyed blocks of a pool. Owners are numbers; a place in the free queue is absolute."""

    def __init__(self) -> None:
        self._root = Node(None, 0, [], [])
        self._ends: dict[int, Node] = {}  # owner -> the last node it holds blocks of
        self._idle: list[tuple[int, int, Idle]] = []  # heap by place; some are empty by now
        self._pushed = 0
        self.count = 0  # blocks

    # ---- asking

    def find(self, keys: Sequence[int], most: int) -> list[int]:
        """Blocks with the first keys, `most` at most."""
        blocks: list[int] = []
        for node, count in self._path(keys, most):
            blocks += node.blocks if count == len(node.blocks) else node.blocks[:count]
        return blocks

    def idle_among(self, keys: Sequence[int], count: int) -> tuple[int, int]:
        """Of the first `count` keys, how many blocks there are and how many of these are idle."""
        found = idle = 0
        for node, n in self._path(keys, count):
            found += n
            idle += max(n - node.held, 0)
        return found, idle

    def depth(self, owner: int) -> int:
        """How many blocks an owner holds in the tree."""
        node = self._ends.get(owner)
        return 0 if node is None else node.start + node.holders[owner]

    def _path(self, keys: Sequence[int], most: int) -> Iterator[tuple[Node, int]]:
        """Nodes with the first keys, `most` at most, and how many blocks of each."""
        node, at = self._root, 0
        while at < most:
            child = node.children.get(keys[at])
            if child is None:
                return
            size = len(child.blocks)
            count = child.common(keys, at, min(size, most - at))
            yield child, count
            if count < size:
                return
            node, at = child, at + count

    # ---- acting

    def hold(self, owner: int, keys: Sequence[int], count: int) -> tuple[int, list[tuple[int, int]]]:
        """An owner that holds nothing yet holds the first `count` keys' blocks, all of which are there. Gives
        how many others hold too, and the (place, blocks) of all that were idle."""
        shared, woken = 0, []
        for node, n in self._path(keys, count):
            shared += min(n, node.held)
            woken += node.hold(owner, n)
            self._ends[owner] = node
        return shared, woken

    def add(self, owner: int, keys: list[int], blocks: list[int]) -> None:
        """Behind what the owner holds come these blocks, of contents that nobody has (see `clash`)."""
        node = self._ends.get(owner, self._root)
        held = node.holders.get(owner, 0)
        if held < len(node.blocks):
            self._split(node, held)
        if node is self._root or node.children:
            child = Node(node, node.start + held, keys, blocks)
            node.children[keys[0]] = self._ends[owner] = node = child
        else:
            node.keys += keys
            node.blocks += blocks
        node.holders[owner] = node.held = len(node.blocks)
        self.count += len(blocks)

    def clash(self, owner: int, key: int) -> list[Left]:
        """What has to leave the tree because the owner comes with another block of content `key`."""
        node = self._ends.get(owner, self._root)
        held = node.holders.get(owner, 0)
        if held == len(node.blocks):
            child = node.children.get(key)
            return [] if child is None else self._cut_off(child)
        return self._cut_off(self._split(node, held)) if node.keys[held] == key else []

    def release(self, owner: int, place: int) -> Released:
        """An owner gives up everything; what nobody else holds goes to the free queue, at `place`."""
        node, shared = self._ends.pop(owner), 0
        blocks: list[int] = []
        while node.parent is not None:
            high = node.holders.pop(owner)
            low = max(node.holders.values(), default=0)
            if low < high:
                self._lay(Idle(node, place + len(blocks), low, high))
                blocks += node.blocks[low:high][::-1]
                node.held = low
                shared += low
            else:
                shared += high
            node = node.parent
        return Released(blocks, shared)

    def evict(self, place: int) -> int:
        """Blocks whose place is before `place` have left the queue and lost their content; how many."""
        count, heap = 0, self._idle
        while heap and heap[0][0] < place:
            idle = heap[0][2]
            n = min(place - idle.place, idle.high - idle.low)
            if n > 0:
                self._lose(idle, n)
                count += n
            if idle.low < idle.high:
                break
            heappop(heap)
        self.count -= count
        return count

    def dissolve(self) -> list[Left]:
        """Everything leaves the tree."""
        left = [one for child in list(self._root.children.values()) for one in self._cut_off(child)]
        self._idle.clear()  # all are empty
        return left

    # ---- within

    def _lay(self, idle: Idle) -> None:
        idle.node.idle.append(idle)
        heappush(self._idle, (idle.place, self._pushed, idle))
        self._pushed += 1

    def _lose(self, idle: Idle, n: int) -> None:
        """The last `n` of these blocks, which are the last of their node, lose their content."""
        node = idle.node
        assert idle is node.idle[0], "a later block is still there"
        idle.high -= n
        idle.place += n
        if idle.low == idle.high:
            del node.idle[0]
        if not idle.high:
            assert node.parent is not None
            assert not node.children, "what follows is still there"
            del node.parent.children[node.keys[0]]
        del node.blocks[idle.high :], node.keys[idle.high :]

    def _split(self, node: Node, at: int) -> Node:
        """Make the blocks of a node behind the first `at`, which an owner holds, a node of their own; all
        that are idle are among these."""
        rest = Node(node, node.start + at, node.keys[at:], node.blocks[at:])
        del node.keys[at:], node.blocks[at:]
        rest.children, node.children = node.children, {rest.keys[0]: rest}
        for child in rest.children.values():
            child.parent = rest
        for owner, held in node.holders.items():
            if held > at:
                rest.holders[owner] = held - at
                node.holders[owner] = at
                if self._ends[owner] is node:
                    self._ends[owner] = rest
        rest.held, node.held = node.held - at, at
        rest.idle, node.idle = node.idle, []
        for idle in rest.idle:
            idle.node = rest
            idle.low -= at
            idle.high -= at
        return rest

    def _cut_off(self, node: Node) -> list[Left]:
        """A node and all behind it leave the tree."""
        parent = node.parent
        assert parent is not None
        del parent.children[node.keys[0]]
        left: list[Left] = []
        nodes = [node]
        for one in nodes:
            nodes += one.children.values()
            left += _left(one)
            for owner in one.holders:
                self._ends[owner] = parent
            for idle in one.idle:
                idle.low = idle.high
        if parent is self._root:
            for owner in node.holders:
                del self._ends[owner]
        self.count -= len(left)
        return left


def _left(node: Node) -> Iterator[Left]:
    places = [-1] * node.held
    for idle in reversed(node.idle):
        places += range(idle.place + idle.high - idle.low - 1, idle.place - 1, -1)
    depths = node.holders.values()
    for at, (key, block, place) in enumerate(zip(node.keys, node.blocks, places, strict=True)):
        yield Left(key, block, place, sum(depth > at for depth in depths))
