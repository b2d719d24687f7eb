"""Managers used on their own, by name: the few lines that an article or a notebook needs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kvtui.serving.request import Phase, Request

if TYPE_CHECKING:
    from kvtui.memory.hits import Hits
    from kvtui.memory.pool import BlockPool


class MemoryUsage(NamedTuple):
    """Slots (room for the K/V of one token) of a manager by what they hold; they add up to the pool."""

    stored: int
    reserved: int  # held for tokens still to come
    internal: int  # held and never used: the rest of a region, or the unfilled end of a block
    external: int  # free in holes too small for the next region
    cached: int  # full, nobody's, reusable
    free: int


class ByName:
    """Allocate, append, fork and free sequences by any hashable name.

    A subclass gives `lookup`, `admit`, `grow`, `release` and the two copy-on-write calls; here is only the
    book of names.
    """

    def __init__(self) -> None:
        self.handles: dict[Hashable, Request] = {}
        self._made = 0

    def allocate(
        self, name: Hashable, tokens: int, *, output: int = 0, keys: Sequence[int] = ()
    ) -> int | None:
        """Store `tokens` prompt tokens under `name`.

        Returns how many of them were found in the prefix cache, None (and no effect) where there is no room.
        `keys` name the contents of its leading full blocks: equal keys, equal prefix. `output` is how many
        more tokens will be appended at most; only a manager that reserves by it looks at it.
        """
        assert name not in self.handles, f"{name!r} is allocated already"
        request = Request(self._made, tokens, output, keys=list(keys))
        hits = self.lookup(request)
        if not self.admit(request, hits, tokens - hits.tokens):
            return None
        request.move(Phase.RUNNING)
        request.computed = tokens
        self._made += 1
        self.handles[name] = request
        return hits.tokens

    def append(self, name: Hashable, tokens: int = 1) -> bool:
        """Store more tokens; False (and no effect) where there is no room."""
        request = self.handles[name]
        if not self.write_ahead(request, request.computed):
            return False
        if not self.grow(request, request.computed + tokens):
            return False
        self.register(request, request.computed + tokens)
        request.computed += tokens
        return True

    def fork(self, name: Hashable, child: Hashable) -> bool:
        """A second sequence with the same contents that goes its own way; False where there is no room."""
        assert child not in self.handles, f"{child!r} is allocated already"
        parent = self.handles[name]
        copy = Request(self._made, parent.prompt, parent.output)
        if not self.fork_request(parent, copy, parent.computed):
            return False
        copy.move(Phase.RUNNING)
        copy.computed = parent.computed
        self._made += 1
        self.handles[child] = copy
        return True

    def free(self, name: Hashable) -> None:
        """Give everything back that `name` holds."""
        request = self.handles.pop(name)
        self.release(request, request.computed)

    def tokens(self, name: Hashable) -> int:
        """Tokens stored under `name`."""
        return self.handles[name].computed

    def block_table(self, name: Hashable) -> tuple[int, ...]:
        """The block ids that `name` holds, in logical order."""
        return tuple(self.handles[name].table)

    # ---- what a subclass gives

    block_size: int

    def lookup(self, request: Request) -> Hits:
        raise NotImplementedError

    def admit(self, request: Request, hits: Hits, tokens: int) -> bool:
        raise NotImplementedError

    def grow(self, request: Request, upto: int) -> bool:
        raise NotImplementedError

    def register(self, request: Request, upto: int) -> None:
        raise NotImplementedError

    def release(self, request: Request, stored: int) -> None:
        raise NotImplementedError

    def write_ahead(self, request: Request, stored: int) -> bool:
        raise NotImplementedError

    def fork_request(self, parent: Request, child: Request, stored: int) -> bool:
        raise NotImplementedError


def usage_of(requests: Iterable[Request], pool: BlockPool, block_size: int) -> MemoryUsage:
    """Slots of a pool by what they hold now."""
    filled: dict[int, int] = {}  # a shared block counts once
    for request in requests:
        for at, block in enumerate(request.table):
            fill = min(block_size, max(request.computed - at * block_size, 0))
            filled[block] = max(fill, filled.get(block, 0))
    stored = sum(filled.values())
    held = (pool.size - pool.free) * block_size
    cached = pool.cached * block_size
    free = pool.free * block_size - cached
    return MemoryUsage(stored, 0, held - stored, 0, cached, free)


def check_tables(requests: Collection[Request], pool: BlockPool, block_size: int) -> None:
    """Assert that tables, references and the free queue agree."""
    pool.check()
    held: dict[int, int] = {}
    for request in requests:
        assert len(request.table) * block_size >= request.computed
        for block in request.table:
            held[block] = held.get(block, 0) + 1
    if requests:
        assert pool.free + len(held) == pool.size, "a block is neither free nor held"
        assert {b: n - 1 for b, n in held.items() if n > 1} == pool.extra
