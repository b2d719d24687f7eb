"""Who stored which blocks: requests as far as KV events tell them apart.

A prefill stores all full blocks of its prompt that were not cached, at once or, chunk after chunk, in
successive batches. A decode stores a block on the last one of its request every `block_size` tokens. What
was preempted comes back as a prefill up to where it had been, once its blocks are evicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from kvtui.live.kvevents import Batch, Cleared, Removed, Stored
from kvtui.live.traffic.derived.blocks import Block, Blocks

SLOWEST_S: Final = 2.0  # a token
PATIENCE: Final = 25.0  # times what a block takes: who stores none for longer is taken to have ended
STEP_S: Final = 2.0  # and more is no step
FULL: Final = 0.25  # of the most blocks of one batch: from there on its step may have had no room for more
AT_WORK: Final = 1.5  # times that: who is decoded has stored the next block by then
SMOOTHED: Final = 16  # blocks over which the pace is taken


@dataclass(eq=False)
class Derived:
    """A request. The prompt fills `least` to `most` blocks; None where nobody saw where its chain begins."""

    tip: Block  # its last full block
    first_s: float  # of its first stored block, by the server's clock
    least: int | None
    most: int | None
    cached: int | None  # leading blocks that it found cached
    last_s: float
    batch: int = -1  # number of the one with the last of its blocks
    wait_s: float = 0.0  # from the end of the prompt's blocks to the first block that has output
    decoded: int = 0  # such blocks
    decode_s: float = 0.0  # from the first to the last of them
    cut: bool = False  # whether events are missing of its time


@dataclass
class Derivation:
    """Requests of one server. `over` is told those that have ended, or of whom no more will be known."""

    over: Callable[[Derived], None]
    blocks: Blocks = field(default_factory=Blocks)
    block_size: int = 0  # 0 until something is stored
    strangers: int = 0  # blocks of requests that had begun before, or of another kind of layer
    _group: int = 0
    _pace_s: float | None = None  # a block of output takes, lately
    _slack: int = -1  # number of the last batch in which no prefill can have been cut off
    _time_s: float = 0.0  # of the last one
    _fullest: int = 0  # blocks that one batch stored at most
    _open: dict[Derived, None] = field(default_factory=dict)  # those that stored last come last
    _at: dict[Block, list[Derived]] = field(default_factory=dict)  # whose last block it is

    def take(self, number: int, batch: Batch) -> None:
        self._end_until(batch.time_s - self._patience_s)
        if batch.time_s - self._time_s > STEP_S:
            self._slack = number - 1
        new = sum(len(change.hashes) for change in batch.changes if isinstance(change, Stored))
        for change in batch.changes:
            if isinstance(change, Cleared):
                self.end()
                self.blocks.clear()
            elif isinstance(change, Removed):
                if change.group == self._group:
                    self.blocks.remove(change.hashes, batch.time_s)
            elif change.hashes and self._followed(change):
                self._store(change, batch.time_s, number)
        self._fullest = max(self._fullest, new)
        if new < FULL * self._fullest:
            self._slack = number
        self._time_s = batch.time_s

    def gap(self) -> None:
        for request in self._open:
            request.cut = True

    def anew(self) -> None:
        self.end()
        self.blocks.forget()

    def end(self) -> None:
        """Nobody will say more of those that are open."""
        for request in list(self._open):
            self._close(request)

    @property
    def _patience_s(self) -> float:
        slowest = SLOWEST_S * self.block_size
        return slowest if self._pace_s is None else min(PATIENCE * self._pace_s, slowest)

    def _followed(self, stored: Stored) -> bool:
        """Models of several kinds of layers store everything once for each: one of them is enough."""
        if not self.block_size:
            self.block_size, self._group = stored.block_size, stored.group
        same = (stored.block_size, stored.group) == (self.block_size, self._group)
        self.strangers += 0 if same else len(stored.hashes)
        return same

    def _store(self, stored: Stored, time_s: float, number: int) -> None:
        base = self.blocks.parent(stored.parent)
        blocks = self.blocks.store(base, stored.hashes)
        gone = {block for block in blocks[-2:] if not block.copies}
        for block in blocks:
            block.copies += 1
        request = self._at_work(base, blocks, time_s, number)
        if request is None and blocks[0].depth is None and len(blocks) == 1:
            self.strangers += 1  # a decode of who had begun before
            return
        if request is None:
            request = _begun(blocks, time_s)
        if not request.decoded:
            request = self._resumed(blocks, gone, besides=request) or request
        self._move(request, blocks[-1], time_s, number)

    def _at_work(
        self, base: Block | None, blocks: Sequence[Block], time_s: float, number: int
    ) -> Derived | None:
        """Whose last block `base` is, if this can be its next ones; None if there is nobody."""
        for request in self._at.get(base, ()) if base is not None else ():
            if not request.decoded and request.batch > self._slack:
                self._chunk(request, blocks, steps=number - request.batch, time_s=time_s)
                return request
            if len(blocks) == 1:
                self._decode(request, time_s)
                return request
        return None

    def _chunk(self, request: Derived, blocks: Sequence[Block], *, steps: int, time_s: float) -> None:
        """What may be more of its prompt. Of one block nobody knows, but output is no faster than a token a
        step."""
        depth = blocks[-1].depth
        if len(blocks) > 1:
            request.least = request.most = depth
        elif depth is not None and (request.least == request.most or steps < self.block_size):
            request.least, request.most = request.most, depth
        else:
            self._decode(request, time_s)

    def _decode(self, request: Derived, time_s: float) -> None:
        took_s = time_s - request.last_s
        if request.decoded:
            request.decode_s += took_s
            pace_s = took_s if self._pace_s is None else self._pace_s
            self._pace_s = pace_s + (took_s - pace_s) / SMOOTHED
        else:
            request.wait_s = took_s
        request.decoded += 1

    def _resumed(self, blocks: Sequence[Block], gone: set[Block], *, besides: Derived) -> Derived | None:
        """Who had all that is stored here, evicted since, is the one who stores it again. It may have one
        block more if it was at work when it lost them: before its next one was due."""
        for block in reversed(blocks[-2:]):
            for other in self._at.get(block, ()) if block in gone else ():
                at_work = self._pace_s is None or block.gone_s - other.last_s < AT_WORK * self._pace_s
                if other is not besides and (block is blocks[-1] or at_work):
                    self._drop(besides)
                    return other
        return None

    def _move(self, request: Derived, tip: Block, time_s: float, number: int) -> None:
        self._drop(request)
        request.tip, request.last_s, request.batch = tip, time_s, number
        self._open[request] = None
        self._at.setdefault(tip, []).append(request)

    def _end_until(self, time_s: float) -> None:
        for request in list(takewhile(lambda each: each.last_s < time_s, self._open)):
            self._close(request)

    def _close(self, request: Derived) -> None:
        self._drop(request)
        self.over(request)

    def _drop(self, request: Derived) -> None:
        if request not in self._open:
            return
        del self._open[request]
        there = self._at[request.tip]
        there.remove(request)
        if not there:
            del self._at[request.tip]


def _begun(blocks: Sequence[Block], time_s: float) -> Derived:
    """A new one. If it stores one block, that may be the first with output: its prompt was all cached, or
    shorter than a block."""
    first, last = blocks[0].depth, blocks[-1].depth
    if first is None or last is None:
        return Derived(blocks[-1], time_s, None, None, None, time_s)
    return Derived(blocks[-1], time_s, last - (len(blocks) == 1), last, first - 1, time_s)
