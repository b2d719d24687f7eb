"""Paged KV memory: block tables that grow by one block at a time, a prefix cache, copy-on-write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter

from kvtui.errors import ConfigError
from kvtui.memory.byname import ByName, MemoryUsage, check_tables, usage_of
from kvtui.memory.hits import NO_HITS, Hits
from kvtui.memory.levels import Bought, Levels
from kvtui.memory.ops import OpKind
from kvtui.memory.pool import BlockPool
from kvtui.memory.pooled import Pooled
from kvtui.memory.wheel import PhaseWheel, affordable
from kvtui.serving.request import Request


class PagedMemoryManager(Pooled, ByName):
    """Block tables over a pool of `num_slots // block_size` blocks, by the rules of vLLM V1.

    A scheduler works with requests (`lookup`, `admit`, `grow`, `serve`, `advance`, `release`); on its own the
    manager is used by name (`allocate`, `append`, `fork`, `free`, see `ByName`). `lifo` is the order of reuse
    since vLLM 0.24: blocks that carry no content first, the last freed before all.
    """

    region_blocks = None
    reserves = False
    steady = True
    checkpoints = None
    batched = True
    tables = 1
    left = 0

    def __init__(
        self, num_slots: int, block_size: int = 16, *, prefix_cache: bool = True, lifo: bool = True
    ) -> None:
        if block_size < 1:
            raise ConfigError(f"block size {block_size} is not a positive number of tokens")
        if num_slots < block_size:
            raise ConfigError(
                f"{num_slots} slots are less than one block of {block_size}",
                hint="give the pool more slots or use a smaller block size",
            )
        super().__init__()
        self.block_size = block_size
        self.blocks = num_slots // block_size
        self.prefix_cache = prefix_cache
        self.lifo = lifo
        self.pool = BlockPool(self.blocks, lifo=lifo)
        self.wheel = PhaseWheel(block_size)  # every decode
        self.hot = PhaseWheel(block_size)  # decodes whose output completes blocks others can meet
        self.copies = 0  # blocks copied before a write (copy-on-write)
        self._own_key = 0  # keys that nobody else has count down from here

    # ---- asking

    def blocks_for(self, tokens: int) -> int:
        """Blocks that `tokens` tokens fill."""
        return -(-tokens // self.block_size)

    def need(self, request: Request) -> int:
        """Blocks the request holds at most over its life: its last token is never stored."""
        return -(-(request.prompt + max(request.output - 1, 0)) // self.block_size)

    def lookup(self, request: Request) -> Hits:
        """The longest cached prefix; at least one known token stays to be computed. No effect."""
        if not (request.keys or request.lost) or not self.prefix_cache or request.skip_lookup:
            return NO_HITS
        limit = (request.known - 1) // self.block_size
        keys = request.keys
        blocks = self.pool.find_all(keys, min(limit, len(keys)))
        lost = len(request.lost)
        if not lost or limit <= len(keys) or len(blocks) < len(keys):
            return Hits(blocks, 0, len(blocks) * self.block_size)
        private = min(self.pool.survivors(request.lost_at, lost), limit - len(keys))
        return Hits(blocks, private, (len(blocks) + private) * self.block_size)

    def missing_key(self, request: Request, hits: Hits) -> int | None:
        """The key that would lengthen the hit if somebody published it, or None."""
        at = len(hits.blocks)
        return request.keys[at] if at < len(request.keys) else None

    def hot_keys(self, at: int) -> set[int]:
        """Keys of block number `at` that decoding requests may publish with their output."""
        return {r.keys[at] for r in self.hot.all() if r.registered <= at < len(r.keys)}

    def filled(self, request: Request, tokens: int) -> int:
        """Slots that the first `tokens` tokens fill."""
        return tokens

    def levels(self, wanted: Request | None) -> Levels:
        """How the memory stands. Any free block serves any request: there are no holes."""
        pool, size = self.pool, self.block_size
        free = pool.free
        return Levels((self.blocks - free) * size, pool.shared * size, 0, pool.cached * size, free * size)

    # ---- acting for a scheduler

    def admit(
        self, request: Request, hits: Hits, tokens: int, *, watermark: int = 0, reserve_full: bool = True
    ) -> bool:
        """Give the request its hit blocks and blocks for `tokens` more tokens; register what gets full.

        Refuses (False, no effect) when the blocks, or with `reserve_full` those for all its known tokens, and
        `watermark` blocks are not free.
        """
        pool, size = self.pool, self.block_size
        have = hits.tokens
        count = have // size
        idle = hits.private + pool.idle_among(request.keys, hits.blocks) if count else 0
        need = -(-(have + tokens) // size) - count
        asked = max(-(-request.known // size) - count, need) if reserve_full else need
        if asked + idle + watermark > pool.free:
            return False
        request.table = self._hit(request, hits) if count else []
        request.lost = []
        if pool.log is not None:
            pool.log.add(OpKind.SHARE, request.number, tuple(request.table))
        request.registered = len(hits.blocks)
        request.computed = have
        self._extend(request, need)
        self.register(request, have + tokens)
        return True

    def grow(self, request: Request, upto: int) -> bool:
        """Blocks so that tokens [0, upto) have slots; False if there are none."""
        need = self.blocks_for(upto) - len(request.table)
        if need > 0:
            if need > self.pool.free:
                return False
            self._extend(request, need)
        return True

    def register(self, request: Request, upto: int) -> None:
        """Tokens [0, upto) are stored or will be after this step: blocks that get full can be found."""
        if not self.prefix_cache:
            return
        full = upto // self.block_size
        first = request.registered
        if first < len(request.keys) and first < full:
            last = min(full, len(request.keys))
            self.pool.publish(request.number, first, request.table[first:last], request.keys[first:last])
            request.registered = last

    def register_decode(self, request: Request, step: int) -> None:
        """A decode fills a block in `step`: it can be found from now on."""
        if request.registered < len(request.keys):
            self.register(request, request.offset + step + 1)
            if request.registered == len(request.keys) and self.hot.has(request):
                self.hot.leave(request)

    def serve(self, step: int, chunks: Sequence[tuple[Request, int]]) -> bool:
        """One step of the whole batch at once: every decode stores a token, and each of `chunks` (request,
        tokens) stores its tokens; all in batch order. False (no effect) if the blocks do not suffice."""
        pool = self.pool
        if not chunks:
            return bool(self._one_step(step, []))
        takers: list[tuple[Request, int]] = [(r, 1) for r in self.wheel.at(step)]
        for request, tokens in chunks:
            takers.append((request, self.blocks_for(request.computed + tokens) - len(request.table)))
        total = sum(n for _, n in takers)
        if total > pool.free:
            return False
        takers.sort(key=_batch_order)
        ids = pool.take(total)
        at = 0
        for request, n in takers:
            if n:
                request.table += ids[at : at + n]
                if self.pool.log is not None:
                    self.pool.log.add(OpKind.TAKE, request.number, ids[at : at + n])
                at += n
        self._register_batch(step, chunks)
        return True

    def advance(self, step: int, steps: int, bought: Bought) -> int:
        """Up to `steps` steps in which nothing happens but one token for every decode.

        Stops before the first step whose blocks do not suffice and returns how many steps were done. Adds to
        `bought` what each of them took.
        """
        if not self.lifo:
            return self._one_by_one(step, steps, bought)
        if steps == 1:  # as on a screen
            return self._one_step(step, bought.blocks)
        pool, end, at = self.pool, step + steps, step
        while at < end:
            slots = self.wheel.span(at, end - at)
            sizes = list(map(len, slots))
            total = sum(sizes)
            short = total > pool.free
            if short:
                fits, total = affordable(sizes, pool.free)
                slots, sizes = slots[:fits], sizes[:fits]
            if total:
                self._deal(chain.from_iterable(slots), total)
            bought.blocks += sizes
            if self.hot.count:
                for done in range(at, at + len(slots)):
                    self._register_batch(done, ())
            at += len(slots)
            if short:
                break
        return at - step

    def _one_by_one(self, step: int, steps: int, bought: Bought) -> int:
        """Where blocks with content and without stand mixed in the queue: say which were taken."""
        pool = self.pool
        for at in range(step, step + steps):
            before = pool.cached
            if not self._one_step(at, bought.blocks):
                return at - step
            bought.cached.append(before - pool.cached)
        return steps

    def _one_step(self, step: int, bought: list[int]) -> int:
        """A token for every decode, and to `bought` how many blocks that took; 0 (no effect) where they
        lack, else 1."""
        takers, pool = self.wheel.views[step % self.block_size], self.pool
        total = len(takers)
        if total and total > pool.free:
            return 0
        if self.hot.count or pool.log is not None:
            if total:
                self._deal(takers, total)
            self._register_batch(step, ())
        elif total:
            for request, block in zip(takers, pool.take(total)):  # noqa: B905 - as many as there are takers
                request.table.append(block)
        bought.append(total)
        return 1

    def start(self, request: Request) -> None:
        """The request decodes from now on."""
        self.wheel.enter(request)
        if request.registered < len(request.keys) and self.prefix_cache:
            self.hot.enter(request)

    def stop(self, request: Request) -> None:
        """The request decodes no longer (or is about to be delayed)."""
        self.wheel.leave(request)
        if self.hot.has(request):
            self.hot.leave(request)

    def release(self, request: Request, stored: int, *, again: bool = False) -> None:
        """Free the block table; of `stored` tokens all full blocks stay cached. With `again` the request
        will come back (preemption) and can find its own blocks."""
        hashed = stored // self.block_size if self.prefix_cache else 0
        if again and hashed > (request.known - 1) // self.block_size and not request.skip_lookup:
            # Its last full block will be computed again beside this copy: two blocks with one content, which
            # private segments cannot tell. Let all its blocks stand in the map.
            self._key_all(request, hashed)
        keyed = min(len(request.keys), hashed)
        table = request.table
        place = self.pool.give_back(request.number, table, keyed, hashed)
        if again:
            request.lost, request.lost_at = table[keyed:hashed], place
        request.table = []
        request.registered = 0

    def fork_request(self, parent: Request, child: Request, stored: int) -> bool:
        """The child holds all blocks of the parent; whoever writes to a shared one first copies it."""
        if self.prefix_cache:
            self._key_all(parent, stored // self.block_size)
        child.keys = parent.keys[: parent.registered]
        child.registered = parent.registered
        child.table = parent.table.copy()
        self.pool.dissolve()
        for block in child.table:
            self.pool.add_reference(block)
        if self.pool.log is not None:
            self.pool.log.add(OpKind.SHARE, child.number, tuple(child.table))
        return True

    def write_ahead(self, request: Request, stored: int) -> bool:
        """Give the request its own copy of the block that token `stored` goes to; False if none is free."""
        at = stored // self.block_size
        if at >= len(request.table) or request.table[at] not in self.pool.extra:
            return True
        if not self.pool.free:
            return False
        source, (target,) = request.table[at], self.pool.take(1)
        self.copies += 1
        request.table[at] = target
        self.pool.drop(source)
        if self.pool.log is not None:
            self.pool.log.add(OpKind.TAKE, request.number, [target])
            self.pool.log.add(OpKind.COPY, request.number, (source, target))
            self.pool.log.add(OpKind.DROP, request.number, [source])
        return True

    # ---- within

    def _hit(self, request: Request, hits: Hits) -> list[int]:
        """The blocks of a prefix that is cached, now held by the request too."""
        self.pool.share_all(request.number, request.keys, hits.blocks)
        if not hits.private:
            return hits.blocks.copy()
        self.pool.revive(request.lost_at, len(request.lost), hits.private)
        return hits.blocks + request.lost[: hits.private]

    def _extend(self, request: Request, n: int) -> None:
        ids = self.pool.take(n)
        request.table += ids
        if self.pool.log is not None:
            self.pool.log.add(OpKind.TAKE, request.number, ids)

    def _deal(self, takers: Iterable[Request], total: int) -> None:
        ids, log = self.pool.take(total), self.pool.log
        if log is None:
            for request, block in zip(takers, ids):  # noqa: B905 - as many as there are takers
                request.table.append(block)
            return
        for request, block in zip(takers, ids, strict=True):
            request.table.append(block)
            log.add_one(OpKind.TAKE, request.number, block)

    def _register_batch(self, step: int, chunks: Sequence[tuple[Request, int]]) -> None:
        """Register the blocks that get full in `step`, in batch order."""
        full = list(self.hot.at(step + 1)) if self.hot.count else []
        if chunks:
            by_chunk = dict(chunks)
            for request in sorted([*full, *by_chunk], key=attrgetter("order")):
                if request in by_chunk:
                    self.register(request, request.computed + by_chunk[request])
                else:
                    self.register_decode(request, step)
        else:
            for request in full:
                self.register_decode(request, step)

    def _key_all(self, request: Request, hashed: int) -> None:
        """Give every full block that is private so far a key that nobody else has."""
        more = hashed - len(request.keys)
        if more > 0:
            request.keys = request.keys + list(range(self._own_key - more, self._own_key))
            self._own_key -= more
        first = request.registered
        if first < hashed:
            table, keys = request.table[first:hashed], request.keys[first:hashed]
            self.pool.publish(request.number, first, table, keys)
            request.registered = hashed

    # ---- by name

    def usage(self) -> MemoryUsage:
        """Slots by what they hold now."""
        return usage_of(self.handles.values(), self.pool, self.block_size)

    def check(self) -> None:
        """Assert that tables, references and the free queue agree."""
        check_tables(self.handles.values(), self.pool, self.block_size)


def _batch_order(taker: tuple[Request, int]) -> int:
    return taker[0].order
