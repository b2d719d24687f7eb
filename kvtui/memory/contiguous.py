"""Contiguous KV memory: one region a request, reserved in full when it is admitted."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.errors import ConfigError
from kvtui.memory.byname import ByName, MemoryUsage
from kvtui.memory.hits import NO_HITS, Hits
from kvtui.memory.levels import Bought, Levels
from kvtui.memory.ops import OpKind, OpLog
from kvtui.memory.placement import Buddy, FirstFit, Placement
from kvtui.serving.request import Request

RESERVE = ("max", "pow2", "exact")
PLACEMENT = ("first-fit", "buddy")


class ContiguousMemoryManager(ByName):
    """Regions over `num_slots` slots, in units of `block_size` slots.

    A request of P prompt and O output tokens reserves, cut at `max_len` and rounded up to whole units:
    `max` P + max_len, `pow2` P + the next power of two from O, `exact` P + O: Orca (Max), (Pow2) and (Oracle)
    of the PagedAttention paper. The states of layers without K and V take `beside` slots more, filled from
    the first token on. Nothing moves and nothing grows, so nothing is ever preempted.
    """

    prefix_cache = False
    reserves = True
    steady = True
    checkpoints = None
    batched = True
    tables = 1
    left = 0
    evictions = forgotten = 0

    def __init__(
        self,
        num_slots: int,
        max_len: int,
        block_size: int = 1,
        *,
        reserve: str = "max",
        placement: str = "first-fit",
        beside: int = 0,
    ) -> None:
        if reserve not in RESERVE:
            raise ConfigError(f"no reserve rule {reserve!r}", hint=f"one of {', '.join(RESERVE)}")
        if placement not in PLACEMENT:
            raise ConfigError(f"no placement {placement!r}", hint=f"one of {', '.join(PLACEMENT)}")
        if block_size < 1 or max_len < 1 or num_slots < block_size:
            raise ConfigError(
                f"{num_slots} slots, maximum length {max_len}, unit {block_size}: all must be positive",
                hint="and the pool no smaller than one unit",
            )
        super().__init__()
        self.block_size = block_size
        self.blocks = num_slots // block_size
        self.max_len = max_len
        self.reserve = reserve
        self.beside = beside
        self.region_blocks = self.blocks_for(max_len + beside) if reserve == "max" else None
        self.log: OpLog | None = None
        self.free_blocks = self.blocks
        self.held_slots = 0
        self.placement: Placement = (
            Buddy(self.blocks, self.blocks_for(max_len + beside))
            if placement == "buddy"
            else FirstFit(self.blocks)
        )
        self._rooms = [size for _, size in self.placement.extents()]  # of the empty pool
        self._largest = max(self._rooms, default=0)
        self._hole: tuple[int, int] | None = None  # (units asked for, free units no such region fits in)

    # ---- asking

    def blocks_for(self, tokens: int) -> int:
        """Units that `tokens` slots fill."""
        return -(-tokens // self.block_size)

    def region(self, request: Request) -> int:
        """Units the request reserves."""
        return self.blocks_for(self.wished(request))

    def wished(self, request: Request) -> int:
        """Slots that the request reserves, before they are rounded up to units."""
        if self.reserve == "max":
            slots = self.max_len
        elif self.reserve == "pow2":
            slots = request.prompt + (1 << max(request.output - 1, 0).bit_length())
        else:
            slots = request.prompt + request.output
        return min(slots, self.max_len) + self.beside

    def need(self, request: Request) -> int:
        """Units that it gets: the placement may round a reservation up."""
        return self.placement.taken(self.region(request))

    def fit(self, request: Request) -> int:
        """How many requests like this one the empty pool holds at their full length."""
        size = self.need(request)
        return sum(room // size for room in self._rooms)

    def can_hold(self, request: Request) -> bool:
        """Whether the request would fit into the empty pool."""
        return request.prompt <= self.max_len and self.region(request) <= self._largest

    def lookup(self, request: Request) -> Hits:
        """Nothing is ever shared."""
        return NO_HITS

    def missing_key(self, request: Request, hits: Hits) -> int | None:
        """No key would help."""
        return None

    def hot_keys(self, at: int) -> set[int]:
        """Nothing is ever published."""
        return set()

    def filled(self, request: Request, tokens: int) -> int:
        """Slots that the first `tokens` tokens fill."""
        return tokens + self.beside

    def levels(self, wanted: Request | None) -> Levels:
        """How the memory stands. Holes are the free ranges too small for the next request's region."""
        size = self.region(wanted) if wanted is not None else self.region_blocks
        hole = self.hole_blocks(size) if size is not None else 0
        unit = self.block_size
        return Levels(self.held_slots, 0, hole * unit, 0, self.free_blocks * unit)

    def hole_blocks(self, size: int) -> int:
        """Free units that lie in ranges too small for a region of `size` units (external fragmentation)."""
        if self._hole is None or self._hole[0] != size:
            self._hole = size, sum(room for _, room in self.placement.extents() if room < size)
        return self._hole[1]

    # ---- acting for a scheduler

    def admit(
        self, request: Request, hits: Hits, tokens: int, *, watermark: int = 0, reserve_full: bool = True
    ) -> bool:
        """Reserve the region; False (no effect) where it fits nowhere or is too small for the prompt."""
        if request.prompt > self.max_len:
            return False
        place = self.placement.place(self.region(request))
        if place is None:
            return False
        start, size = place
        request.taken = start
        request.reserved = size * self.block_size
        request.computed = 0
        self.held_slots += request.reserved
        self.free_blocks -= size
        self._hole = None
        if self.log is not None:
            self.log.add(OpKind.TAKE, request.number, range(start, start + size))
        return True

    def grow(self, request: Request, upto: int) -> bool:
        """The region is all there is: False beyond its end. Only drafts can go past the last token; these
        are not stored."""
        return upto - request.drafts - request.placeholders + self.beside <= request.reserved

    def register(self, request: Request, upto: int) -> None:
        """Nothing can be found by others."""

    def serve(self, step: int, chunks: Sequence[tuple[Request, int]]) -> bool:
        """One step of the whole batch: nothing has to be bought."""
        return True

    def advance(self, step: int, steps: int, bought: Bought) -> int:
        """All steps: nothing has to be bought."""
        return steps

    def start(self, request: Request) -> None:
        """Nothing to prepare: decodes need no blocks."""

    def stop(self, request: Request) -> None:
        """Nothing to undo."""

    def release(self, request: Request, stored: int, *, again: bool = False) -> None:
        """Give the region back."""
        size = request.reserved // self.block_size
        self.placement.free(request.taken, size)
        self.held_slots -= request.reserved
        self.free_blocks += size
        self._hole = None
        if self.log is not None:
            self.log.add(OpKind.FREE, request.number, range(request.taken, request.taken + size))
        request.reserved = 0

    def fork_request(self, parent: Request, child: Request, stored: int) -> bool:
        """A second region, and everything stored is copied; False where there is no room."""
        if not self.admit(child, NO_HITS, stored):
            return False
        if self.log is not None:
            for unit in range(self.blocks_for(stored + self.beside)):
                self.log.add(OpKind.COPY, child.number, (parent.taken + unit, child.taken + unit))
        return True

    def write_ahead(self, request: Request, stored: int) -> bool:
        """Regions are never shared."""
        return True

    # ---- by name

    def usage(self) -> MemoryUsage:
        """Slots by what they hold now; the hole is measured against a region of the maximum length."""
        states = self.beside * len(self.handles)
        stored = sum(r.computed for r in self.handles.values()) + states
        final = sum(r.prompt + r.output for r in self.handles.values()) + states
        final = max(final, stored)
        hole = self.hole_blocks(self.blocks_for(self.max_len + self.beside)) * self.block_size
        return MemoryUsage(
            stored=stored,
            reserved=final - stored,
            internal=self.held_slots - final,
            external=hole,
            cached=0,
            free=self.free_blocks * self.block_size - hole,
        )

    def check(self) -> None:
        """Assert that regions and free ranges tile the memory."""
        taken = [(r.taken, r.reserved // self.block_size) for r in self.handles.values()]
        at = 0
        for start, size in sorted(taken + self.placement.extents()):
            assert start == at, "regions overlap or leak"
            at += size
        assert at == self.blocks
