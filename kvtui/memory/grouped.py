"""Paged KV memory for models whose layers differ, and for speculation: several block tables, one pool.

By the rules of vLLM 0.32 and 0.33. Every full block that others could use has a key, private ones a key of
their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kvtui.errors import ConfigError
from kvtui.memory.agreement import Agreement
from kvtui.memory.group import nulls
from kvtui.memory.groups import ONE_FULL_LAYER, groups_of
from kvtui.memory.hits import NO_HITS, Hits
from kvtui.memory.levels import Bought, Levels
from kvtui.memory.ops import OpKind
from kvtui.memory.pool import BlockPool
from kvtui.memory.pooled import Pooled
from kvtui.memory.retention import Retention
from kvtui.memory.statekeeping import StateKeeping
from kvtui.memory.states import Checkpoints, StateGroup
from kvtui.memory.wheel import PhaseWheel
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules

_NUMBER_BITS = 40  # of a private key that hold the block's number
_ANYTHING = 0


class GroupedMemoryManager(Pooled):
    """Block tables of each group of `layers` over one pool of `num_slots // block_size` blocks.

    A block has the same bytes in every group; `block_size` is what one of the widest layers holds in it.
    Block tables keep their length: 0 stands where a block fell out of a window. `retention_interval` is
    vLLM's `prefix_cache_retention_interval`: which blocks of a window are worth a place in the cache.
    """

    region_blocks = None
    reserves = False
    steady = False  # blocks can fall out of a window

    def __init__(
        self,
        num_slots: int,
        block_size: int,
        rules: Rules,
        *,
        layers: Sequence[str] = ONE_FULL_LAYER,
        prefix_cache: bool = True,
        retention_interval: int | None = 0,
    ) -> None:
        if block_size < 1 or num_slots < block_size:
            raise ConfigError(f"{num_slots} slots in blocks of {block_size} tokens hold nothing")
        if not layers:
            raise ConfigError("a model without attention layers has no KV cache")
        self.block_size = block_size
        self.blocks = num_slots // block_size
        self.prefix_cache = prefix_cache
        self.pool = BlockPool(self.blocks, lifo=rules.release.lifo)
        self.groups = groups_of(layers, block_size, rules, prefix_cache=prefix_cache)
        self._agreement = Agreement(self.groups)
        self._retention = Retention(
            self.groups, self._agreement.align, retention_interval, rules.speculation.refill
        )
        self._unit = math.gcd(*(g.size for g in self.groups))  # tokens a hash
        self._lookahead = rules.speculation.lookahead
        self._ahead = rules.speculation.keyed_ahead
        self.left = 0
        self.tables = len(self.groups)
        self._states: StateKeeping | None = None
        self.checkpoints: Checkpoints | None = None
        if any(isinstance(group, StateGroup) for group in self.groups):
            self._states = StateKeeping(self.groups, rules, self._retention, self.pool, self._key)
            self.checkpoints = self._states.checkpoints
        alike = all(g.size == block_size for g in self.groups) and self._states is None
        self.batched = not rules.explicit and alike
        self._decodes = PhaseWheel(block_size)
        self._started: dict[int, Request] = {}  # decodes that have not left windows since their prompt
        windows = {(g.window - 1) % block_size for g in self.groups if g.window}
        # A decode changes its tables when it stores the first or the last token of a block, or leaves one.
        self._phases = sorted({0, block_size - 1} | windows)
        self._max_len = rules.max_model_len

    # ---- asking

    def need(self, request: Request) -> int:
        """Blocks the request holds at most over its life: its last token is never stored."""
        slots = self._slots(request.prompt + max(request.output - 1, 0))
        return sum(group.at_once(slots, ahead=self._lookahead) for group in self.groups)

    def lookup(self, request: Request) -> Hits:
        """The longest prefix that all groups hold; at least one known token stays to be computed."""
        if not self.prefix_cache or request.skip_lookup:
            return NO_HITS
        hashed = self._hashed(request.known)

        def find(group: int, at: int) -> int | None:
            end = (at + 1) * self.groups[group].size
            return self.pool.find(self._key(request, group, end)) if end <= hashed else None

        return self._agreement.hits(find, request.known, hashed)

    def missing_key(self, request: Request, hits: Hits) -> int:
        """Stands for anything that could help: a refused request is looked at again in every step."""
        return _ANYTHING

    def hot_keys(self, at: int) -> set[int]:
        """Whatever it is, the next step may bring it."""
        return {_ANYTHING}

    def filled(self, request: Request, tokens: int) -> int:
        """Slots that the first `tokens` tokens of the request fill, those out of a window left out. A slot is
        a `block_size`-th of a block, whatever its group."""
        return sum(
            group.filled(table, tokens) * self.block_size // group.size
            for group, table in zip(self.groups, request.tables, strict=True)
        )

    def levels(self, wanted: Request | None) -> Levels:
        """How the memory stands. Any free block serves any request: there are no holes."""
        size, pool = self.block_size, self.pool
        held = (self.blocks - pool.free) * size
        return Levels(held, pool.shared * size, 0, pool.cached * size, pool.free * size)

    # ---- acting for a scheduler

    def admit(
        self, request: Request, hits: Hits, tokens: int, *, watermark: int = 0, reserve_full: bool = True
    ) -> bool:
        """Give the request its hit blocks and blocks for `tokens` more tokens; register what gets full.

        Refuses (False, no effect) when the blocks, or with `reserve_full` those for all its known tokens as
        far as windows let them add up, and `watermark` blocks are not free.
        """
        have, pool = hits.tokens, self.pool
        found = hits.tables or [[] for _ in self.groups]
        skipped = [g.skipped(have) for g in self.groups]
        kept = [blocks[n:] for blocks, n in zip(found, skipped, strict=True)]
        idle = sum(pool.idle(b) for blocks in kept for b in blocks if b)
        room = pool.free - idle - watermark
        if self._states is not None and self._states.in_the_making(found):
            return False
        lengths = list(map(len, found))
        if reserve_full:
            whole = min(request.known, self._max_len)
            if self._missing(request, whole, have, lengths, capped=True) > room:
                return False
        request.checkpoint = self._on_the_way(request, have, have + tokens)
        if self._missing(request, have + tokens, have, lengths) > room:
            return False
        for blocks in kept:
            for block in filter(None, blocks):
                pool.share(block)
        request.tables = [[0] * n + blocks for n, blocks in zip(skipped, kept, strict=True)]
        request.table = request.tables[0]
        self.left += sum(skipped) * self.block_size
        request.offered = list(map(len, request.tables))
        request.computed = have
        if self.log is not None:
            self.log.add(OpKind.SHARE, request.number, [b for blocks in kept for b in blocks if b])
        self._extend(request, have, have + tokens, first=True)
        self.register(request, have + tokens)
        return True

    def grow(self, request: Request, upto: int) -> bool:
        """Blocks so that tokens [0, upto) and the drafter's have slots; False if there are none. In any case
        blocks that fell out of a window are free from now on."""
        stored = upto - 1 if _decodes(request) else request.computed
        self._leave_windows(request, stored)
        request.checkpoint = self._on_the_way(request, stored, upto)
        if self._wanted(request, stored, upto) > self.pool.free:
            return False
        self._extend(request, stored, upto)
        return True

    def register(self, request: Request, upto: int) -> None:
        """Tokens [0, upto), as far as they are known, are stored or will be after this step: blocks that
        get full can be found, if they are worth it."""
        if not self.prefix_cache:
            return
        retention, known = self._retention, upto if _decodes(request) else request.known
        hashed = self._hashed(known)
        for at, (group, table) in enumerate(zip(self.groups, request.tables, strict=True)):
            tokens = min(retention.offered(group, min(upto, known)), hashed)
            first, last = request.offered[at], tokens // group.size
            if last > first:
                for n in retention.kept(group, request, first, last):
                    if table[n]:
                        self.pool.rename(table[n], self._key(request, at, (n + 1) * group.size))
                request.offered[at] = last
            if self._states is not None and isinstance(group, StateGroup):
                self._states.keep(request, at, first, retention.offered(group, min(upto, known)))
            elif group.full and group.size != self._unit:
                self._name_tail(request, at, tokens)

    def serve(self, step: int, chunks: Sequence[tuple[Request, int]]) -> bool:
        """One step of the whole batch at once: every decode stores a token, and each of `chunks` (request,
        tokens) stores its tokens; all in batch order. False (no effect) if the blocks might not suffice."""
        due = {r.order: r for p in self._phases for r in self._decodes.at(step - p)} | self._started
        takers = [(r, r.stored(step), 1) for r in due.values()] + [(r, r.computed, n) for r, n in chunks]
        if sum(self._wanted(r, stored, stored + n) for r, stored, n in takers) > self.pool.free:
            return False
        takers.sort(key=_batch_order)
        self._started.clear()
        for request, stored, n in takers:
            self._leave_windows(request, stored)
            self._extend(request, stored, stored + n)
            self.register(request, stored + n)
        return True

    def advance(self, step: int, steps: int, bought: Bought) -> int:
        """One step with a token for every decode; 0 if the blocks might not suffice."""
        return int(self.serve(step, ()))

    def start(self, request: Request) -> None:
        """The request decodes from now on, one token a step."""
        if self.batched:
            self._decodes.enter(request)
            self._started[request.order] = request

    def stop(self, request: Request) -> None:
        """The request decodes no longer."""
        if self.batched:
            self._decodes.leave(request)
            self._started.pop(request.order, None)

    def release(self, request: Request, stored: int, *, again: bool = False) -> None:
        """Free the block tables; blocks that have a key stay cached."""
        for table in request.tables:
            self.left -= nulls(table) * self.block_size
            self.pool.let_go(request.number, [b for b in reversed(table) if b])
        request.tables, request.table, request.offered = [], [], []
        request.checkpoint = None

    # ---- within

    def _slots(self, tokens: int) -> int:
        """Slots a request must have to compute so many tokens."""
        return min(tokens + self._lookahead, self._max_len)

    def _hashed(self, known: int) -> int:
        """Of so many known tokens, the leading ones in blocks that have a key."""
        known = max(known - self._ahead, 0)
        return known - known % self._unit

    def _key(self, request: Request, group: int, end: int) -> int:
        """Key of the block of a group that ends with token `end`."""
        at = end // self._unit - 1
        keys = request.keys
        key = keys[at] if at < len(keys) else -1 - (request.number << _NUMBER_BITS | at)
        return key * 2 * len(self.groups) + group

    def _name_tail(self, request: Request, group: int, tokens: int) -> None:
        """The block in which the prompt ends has a key of its own until it is full: it stays cached."""
        size, unit = self.groups[group].size, self._unit
        end = (request.prompt if self.groups[group].further else request.prompt - 1) // unit * unit
        if end <= tokens and end % size:
            block = request.tables[group][end // size]
            if self.pool.key_of(block) is None:
                self.pool.rename(block, self._key(request, group, end) + len(self.groups))

    def _on_the_way(self, request: Request, start: int, end: int) -> tuple[int, int] | None:
        """The state that the request saves in this step besides its last one."""
        return None if self._states is None else self._states.on_the_way(request, start, end)

    def _wanted(self, request: Request, stored: int, upto: int) -> int:
        """Blocks to be taken so that a running request with `stored` tokens can go on to `upto`."""
        return self._missing(request, upto, stored, list(map(len, request.tables)), first=False)

    def _missing(
        self,
        request: Request,
        upto: int,
        computed: int,
        lengths: Sequence[int],
        *,
        first: bool = True,
        capped: bool = False,
    ) -> int:
        """Blocks to be taken so that `upto` tokens have slots, beyond table entries that are there. `capped`:
        as far as an admission knows, without a drafter's slots."""
        slots = upto if capped else self._slots(upto)
        passes = (self._on_the_way(request, computed, upto) if capped else request.checkpoint) is not None
        total = 0
        for group, length in zip(self.groups, lengths, strict=True):
            need = group.missing(upto, slots, computed, length, first=first, passes=passes)
            if capped and group.most is not None:
                need = min(need, max(group.most - max(group.skipped(computed), length), 0))
            total += need
        return total

    def _extend(self, request: Request, computed: int, upto: int, *, first: bool = False) -> None:
        slots = self._slots(upto)
        for group, table in zip(self.groups, request.tables, strict=True):
            need = group.opened(table, upto, slots, first=first, passes=request.checkpoint is not None)
            if need > 0:
                ids = self.pool.take(need)
                table += ids
                if self.log is not None:
                    self.log.add(OpKind.TAKE, request.number, ids)

    def _leave_windows(self, request: Request, stored: int) -> None:
        """Free blocks that no token reads any more, those in flight included."""
        computed = max(0, stored - request.inflight)
        for group, table in zip(self.groups, request.tables, strict=True):
            places = group.gone(table, computed)
            if places:
                gone = [table[at] for at in places]
                for at in places:
                    table[at] = 0
                self.left += len(gone) * self.block_size
                self.pool.let_go(request.number, gone)


def _decodes(request: Request) -> bool:
    """Whether what the request has stored follows from the step alone, see `Request`."""
    return request.order >= 0 and not request.chunking


def _batch_order(taker: tuple[Request, int, int]) -> int:
    return taker[0].order
