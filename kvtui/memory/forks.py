"""Paged memory as in the PagedAttention paper: sequences of a request share blocks and copy before they
write, a preempted request may go to host memory, and common prefixes can be pinned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from kvtui.memory.hits import NO_HITS, Hits
from kvtui.memory.levels import Levels
from kvtui.memory.ops import OpKind
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.request import Request

Move = tuple[Request, Request]  # a sequence, and the one it goes on from


class ForkingMemoryManager(PagedMemoryManager):
    """Block tables of sequences over `num_slots // block_size` blocks, and `host_blocks` of host memory.

    Nothing stays cached when a request ends (vLLM of 2023 had no automatic prefix cache). Blocks with a key
    in `pinned` are the exception: the first request that computes one leaves it there for all that follow.
    """

    def __init__(
        self,
        num_slots: int,
        block_size: int = 16,
        *,
        host_blocks: int = 0,
        pinned: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(num_slots, block_size, prefix_cache=bool(pinned))
        self.host_blocks = host_blocks
        self.swapped_out = self.swapped_in = 0  # blocks
        self._host = list(range(host_blocks, 0, -1))  # free ones, the next last
        self._away: dict[int, list[list[int]]] = {}  # request -> host blocks of each sequence; -b = pinned b
        self._wanted = pinned
        self._pinned: dict[int, int] = {}  # key -> block
        self._tails: dict[int, int] = {}  # shared block that is not full -> slots filled
        self._writers: list[Request] = []  # whose next token goes to such a block

    # ---- asking

    @property
    def pending(self) -> bool:
        """Whether somebody has to copy a block before it can go on."""
        return bool(self._tails)

    @property
    def host_free(self) -> int:
        """Blocks of host memory that hold nothing."""
        return len(self._host)

    @property
    def pinned_blocks(self) -> list[int]:
        """Blocks that stay whoever holds them."""
        return list(self._pinned.values())

    def need(self, request: Request) -> int:
        """Blocks the request holds at most: full blocks of the prompt are shared, all else may differ."""
        whole = super().need(request)
        common = min(request.prompt // self.block_size, whole)
        return common + request.width * (whole - common)

    def can_hold(self, request: Request) -> bool:
        return self.need(request) - len(self.lookup(request).blocks) <= self.blocks - len(self._pinned)

    def lookup(self, request: Request) -> Hits:
        """The leading blocks that are pinned; at least one known token stays to be computed."""
        if not self._pinned:
            return NO_HITS
        blocks: list[int] = []
        for key in request.keys[: (request.known - 1) // self.block_size]:
            block = self._pinned.get(key)
            if block is None:
                break
            blocks.append(block)
        return Hits(blocks, 0, len(blocks) * self.block_size)

    def hot_keys(self, at: int) -> set[int]:
        """Nothing is published while decoding."""
        return set()

    def levels(self, wanted: Request | None) -> Levels:
        """As of any paged memory; of a shared block that is not full only its filled slots count twice."""
        levels, size = super().levels(wanted), self.block_size
        empty = sum(self.pool.extra[block] * (size - fill) for block, fill in self._tails.items())
        return levels._replace(twice=levels.twice - empty) if empty else levels

    # ---- acting for a scheduler

    def register(self, request: Request, upto: int) -> None:
        """Nothing can be found by others, but what is to be pinned and was not yet is pinned now."""
        if len(self._pinned) == len(self._wanted):
            return
        full = min(upto // self.block_size, len(request.keys))
        for key, block in zip(request.keys[:full], request.table, strict=False):
            if key in self._wanted and key not in self._pinned:
                self._pinned[key] = block
                self.pool.add_reference(block)
                if self.log is not None:
                    self.log.add(OpKind.SHARE, -1, (block,))

    def start(self, request: Request) -> None:
        self.wheel.enter(request)

    def serve(self, step: int, chunks: Sequence[tuple[Request, int]]) -> bool:
        """A token for every decode; who writes to a shared block first copies it."""
        if self._tails:
            copies = sum(self.pool.extra[block] for block in self._tails)
            if copies + len(self.wheel.at(step)) > self.pool.free:
                return False
            self._copy_for(self._writers, step)
        return super().serve(step, chunks)

    def serve_group(self, step: int, sequences: Sequence[Request]) -> bool:
        """A token for each of the sequences of one request, or (False, no effect) for none."""
        if self.missing(step, sequences) > self.pool.free:
            return False
        self._copy_for(sequences, step)
        for sequence in sequences:
            fits = self.grow(sequence, sequence.stored(step) + 1)
            assert fits, "missing blocks were counted"
        return True

    def missing(self, step: int, sequences: Sequence[Request]) -> int:
        """Blocks that one more token for each of the sequences takes, copies included."""
        last = {s.table[-1] for s in sequences}
        copies = sum(self.pool.extra[block] for block in last if block in self._tails)
        return copies + sum(self.blocks_for(s.stored(step) + 1) > len(s.table) for s in sequences)

    def release(self, request: Request, stored: int, *, again: bool = False) -> None:
        """Give up the table; blocks that nobody else holds are free, and hold nothing any more."""
        self._let_go(request, request.table)
        request.table = []
        request.registered = 0

    # ---- sequences of one request

    def fork_request(self, parent: Request, child: Request, stored: int) -> bool:
        """The child holds all blocks of the parent."""
        child.table = parent.table.copy()
        self._share(child, child.table)
        self._note_tails((parent, child), stored)
        return True

    def branch(self, moves: Sequence[Move], stored: int) -> None:
        """Each sequence goes on from what its parent holds now (`stored` tokens), all at the same time."""
        tables = [(sequence, parent.table.copy()) for sequence, parent in moves]
        common = [_common(sequence.table, table) for sequence, table in tables]
        for (sequence, table), at in zip(tables, common, strict=True):
            self._share(sequence, table[at:])
        for (sequence, table), at in zip(tables, common, strict=True):
            self._let_go(sequence, sequence.table[at:])
            sequence.table = table
        self._note_tails({s: None for move in moves for s in move}, stored)

    def readmit(self, sequences: Sequence[Request], *, watermark: int = 0) -> bool:
        """Blocks to compute everything known of all sequences again, the prompt once; False (no effect) where
        these and `watermark` are not free. `computed` says what each of them need not compute."""
        first, size = sequences[0], self.block_size
        hits, common, whole = self.lookup(first), first.prompt // size, self.blocks_for(first.known)
        need = whole - hits.total + (len(sequences) - 1) * (whole - common)
        if need + watermark > self.pool.free:
            return False
        self.admit(first, hits, first.known - hits.tokens)
        for other in sequences[1:]:
            other.table = first.table[:common]
            self._share(other, other.table)
            self._extend(other, whole - common)
            other.computed = common * size
        return True

    # ---- swapping

    def swap_out(self, sequences: Sequence[Request]) -> int | None:
        """Copy what the sequences of a request hold to host memory and free it; gives the blocks copied, or
        None (no effect) where host memory is full."""
        pinned = set(self.pinned_blocks)
        blocks = [
            b for b in dict.fromkeys(chain.from_iterable(s.table for s in sequences)) if b not in pinned
        ]
        if len(blocks) > len(self._host):
            return None
        host = {block: self._host.pop() for block in blocks}
        if self.log is not None:
            for pair in host.items():
                self.log.add(OpKind.OUT, sequences[0].number, pair)
        self._away[sequences[0].number] = [[host.get(b, -b) for b in s.table] for s in sequences]
        for sequence in sequences:
            self.release(sequence, 0)
        self.swapped_out += len(blocks)
        return len(blocks)

    def away(self, number: int) -> int:
        """Different blocks of a request in host memory."""
        return len({h for table in self._away[number] for h in table if h > 0})

    def swap_in(self, sequences: Sequence[Request], stored: int) -> int:
        """Bring them back; gives the blocks copied. Needs `away` free blocks."""
        number = sequences[0].number
        tables = self._away.pop(number)
        hosts = list(dict.fromkeys(h for table in tables for h in table if h > 0))
        home = dict(zip(hosts, self.pool.take(len(hosts)), strict=True))
        fresh = set(hosts)
        for sequence, table in zip(sequences, tables, strict=True):
            sequence.table = [home[h] if h > 0 else -h for h in table]
            mine = [home[h] for h in table if h in fresh]
            others = [home[h] if h > 0 else -h for h in table if h not in fresh]
            fresh.difference_update(table)
            if self.log is not None:
                self.log.add(OpKind.TAKE, number, mine)
            self._share(sequence, others)
        if self.log is not None:
            for pair in home.items():
                self.log.add(OpKind.IN, number, pair)
        self._host += reversed(hosts)
        self.swapped_in += len(hosts)
        self._note_tails(sequences, stored)
        return len(hosts)

    # ---- within

    def _share(self, sequence: Request, blocks: Sequence[int]) -> None:
        for block in blocks:
            self.pool.add_reference(block)
        if self.log is not None:
            self.log.add(OpKind.SHARE, sequence.number, tuple(blocks))

    def _let_go(self, sequence: Request, blocks: list[int]) -> None:
        self.pool.give_back(sequence.number, blocks, 0, 0)
        if self._tails:
            self._settle_tails()

    def _note_tails(self, sequences: Iterable[Request], stored: int) -> None:
        """Remember which of the sequences share a last block that is not full."""
        fill = stored % self.block_size
        if not fill:
            return
        for sequence in sequences:
            self._tails[sequence.table[-1]] = fill
            self._writers.append(sequence)
        self._settle_tails()

    def _settle_tails(self) -> None:
        """Forget those that nobody shares any more."""
        self._tails = {b: fill for b, fill in self._tails.items() if b in self.pool.extra}
        self._writers = [s for s in self._writers if s.table and s.table[-1] in self._tails]

    def _copy_for(self, sequences: Sequence[Request], step: int) -> None:
        if not self._tails:
            return
        for sequence in sequences:
            if sequence.table[-1] in self._tails:
                copied = self.write_ahead(sequence, sequence.stored(step))
                assert copied, "copies were counted"
        self._settle_tails()

    def check(self) -> None:
        super().check()
        held = {h for tables in self._away.values() for table in tables for h in table if h > 0}
        assert sorted([*held, *self._host]) == list(range(1, self.host_blocks + 1)), "host blocks leak"


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the common beginning."""
    for at, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return at
    return min(len(a), len(b))
