"""Requests keep their rows, and arrays hold what managers hold, whoever comes and goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.backends.batch import Batch, TokenIds
from kvtui.backends.batch_rows import BatchRows, TableRows
from kvtui.backends.ghost import chunks_of, contents_of, views
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from tests.serving.test_leaps import contiguous, paged

tables = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=5)


class Watching:
    """Makes the batch of every step, beside the engine."""

    def __init__(self, engine: Engine) -> None:
        size = engine.manager.block_size
        self.rows = BatchRows(base=1 if engine.manager.reserves else 0)
        self.tokens = TokenIds(lambda request: contents_of(request, size))
        self.kept = self.seated = 0
        self._before: dict[Request, int] = {}
        engine.clock = self

    def duration(self, engine: Engine, plan: Plan) -> int:
        batch, chunks = self.rows.batch(engine, plan, self.tokens), chunks_of(engine, plan)
        assert (batch is None) == (not chunks)
        if batch is not None:
            self._compare(engine, batch, chunks)
        return engine.cost.step(plan.decodes, plan.decode_context, plan.prefill_tokens, plan.prefill_pairs)

    def _compare(self, engine: Engine, batch: Batch, chunks: dict[Request, tuple[int, int]]) -> None:
        assert set(batch.requests) == set(chunks)
        assert len(batch.requests) == len(chunks)
        base = 1 if engine.manager.reserves else 0
        for at, request in enumerate(batch.requests):
            start, count = chunks[request]
            assert (batch.starts[at], batch.counts[at]) == (start, count)
            own = slice(*batch.offsets[at : at + 2])
            assert batch.ids[own].tolist() == self.tokens.of(request, start + count)[start:].tolist()
            (view,) = views(engine, request)
            assert batch.tables[at, : len(view.rows)].tolist() == [unit + base for unit in view.rows]
        places = {request: at for at, request in enumerate(batch.requests)}
        stayed = places.keys() & self._before.keys()
        self.seated += len(stayed)
        self.kept += sum(places[request] == self._before[request] for request in stayed)
        self._before = places


@pytest.mark.parametrize("build", [paged, contiguous])
def test_a_batch_holds_what_is_scheduled(build) -> None:
    seated = kept = 0
    for seed in (0, 1, 23):
        engine = build(seed)
        watching = Watching(engine)
        engine.run()
        seated, kept = seated + watching.seated, kept + watching.kept
    assert seated > 100
    assert kept > 0.7 * seated  # rows move up only where somebody left


def test_rows_are_taken_by_who_comes_and_filled_from_the_end() -> None:
    a, b, c, d, e = (Request(n, 4, 1) for n in range(5))
    for order, request in enumerate((a, b, c, d, e)):
        request.order = order
    rows = BatchRows(base=0)
    for scheduled, wanted in (
        ([b, a, c], [a, b, c]),
        ([a, c, d], [a, d, c]),
        ([a, c], [a, c]),
        ([c, e, b], [b, c, e]),
        ([e], [e]),
        ([], []),
        ([d, a], [a, d]),
    ):
        rows._seat(scheduled)
        assert rows._requests == wanted


@given(st.lists(tables, min_size=1, max_size=8))
def test_tables_are_what_they_were_last_told_to_be(steps: list[list[list[int]]]) -> None:
    rows = TableRows(0)
    for step in steps:
        array = rows.renewed(step)
        assert array.shape == (len(step), max(map(len, step)))
        assert [row[: len(table)].tolist() for row, table in zip(array, step, strict=True)] == step


def test_a_table_that_its_manager_changes_is_seen_to_change() -> None:
    table, rows = [3, 4], TableRows(1)
    assert rows.renewed([table]).tolist() == [[4, 5]]
    table[1] = 9
    assert rows.renewed([table]).tolist() == [[4, 10]]


def test_only_rows_that_changed_are_written() -> None:
    rows = TableRows(0)
    array = rows.renewed([[1, 2], [3, 4]])
    array[:] = -1
    assert rows.renewed([[1, 2], [3, 5]]).tolist() == [[-1, -1], [3, 5]]
