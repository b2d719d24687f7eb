"""The op log tells all of it: entered in a plain book, it says of every block what the pool says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from kvtui.memory.ops import Op, OpKind, OpLog
from kvtui.serving.engine import Engine
from kvtui.serving.request import NO_TABLES, NONE
from tests.serving.test_leaps import drafting, layered, paged, paged_ahead, quoting

SEEDS = range(30)
LEFT = {OpKind.FREE, OpKind.CACHE}


class Book:
    """Who holds what, by the log alone."""

    def __init__(self) -> None:
        self.holders: Counter[int] = Counter()
        self.cached: set[int] = set()
        self.seen: set[OpKind] = set()

    def enter(self, op: Op) -> None:
        self.seen.add(op.kind)
        if op.kind is OpKind.EVICT:
            self.cached.difference_update(op.blocks)
        if op.kind in (OpKind.COPY, OpKind.EVICT):
            return
        for block in op.blocks:
            before = self.holders[block]
            if op.kind is OpKind.TAKE:
                assert not before
                assert block not in self.cached
            if op.kind is OpKind.DROP:
                assert before > 1, "others still hold it"
            if op.kind in LEFT:
                assert before == 1, "nobody holds it any more"
            self.holders[block] += 1 if op.kind in (OpKind.TAKE, OpKind.SHARE) else -1
            if op.kind is OpKind.CACHE:
                self.cached.add(block)
            elif op.kind is OpKind.SHARE:
                self.cached.discard(block)


def told(engine: Engine) -> Book:
    log = engine.manager.log = OpLog()
    book, pool, scheduler = Book(), engine.manager.pool, engine.scheduler
    going = True
    while going:
        going = engine.step()
        for op in log.drain():
            book.enter(op)
        requests = [*scheduler.running.values(), *scheduler.aside]
        tables = [table for request in requests for table in request.all_tables]
        assert +book.holders == Counter(block for table in tables for block in table if block)
        free = set(pool.queue())
        assert {block for block in free if pool.key_of(block) is not None} <= book.cached <= free
        assert len(book.cached) * engine.manager.block_size == engine.manager.levels(None).cached
    assert NONE == NO_TABLES == []  # which all requests share
    return book


@pytest.mark.parametrize("world", [paged, quoting, paged_ahead, layered, drafting])
def test_the_log_says_what_the_pool_says(world: Callable[[int], Engine]) -> None:
    books = []
    for seed in SEEDS:
        try:
            books.append(told(world(seed)))
        except AssertionError as wrong:
            raise AssertionError(f"seed {seed}") from wrong
    seen = set().union(*(book.seen for book in books))
    assert {OpKind.TAKE, OpKind.SHARE, OpKind.DROP, OpKind.FREE, OpKind.CACHE, OpKind.EVICT} <= seen
