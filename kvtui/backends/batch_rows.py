"""Requests keep their row in the batch from step to step: a step rewrites only tables that changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kvtui.backends.batch import Batch, TokenIds
from kvtui.backends.ghost import View, chunks_of, views
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request

Table = NDArray[np.int32]


class BatchRows:
    """Makes the batches of one lane. Units of its manager count from 1 - `base`."""

    def __init__(self, *, base: int) -> None:
        self._base = base
        self._requests: list[Request] = []  # row by row
        self._tables: list[TableRows] = []  # of each group of layers

    def batch(self, engine: Engine, plan: Plan, tokens: TokenIds) -> Batch | None:
        """The batch of a step; None where nothing is computed. Its tables hold until the next one is made."""
        chunks = chunks_of(engine, plan)
        self._seat(chunks)
        if not chunks:
            return None
        requests = tuple(self._requests)
        starts, counts = np.array([chunks[request] for request in requests], np.int64).T
        ids = np.concatenate(
            [tokens.of(r, start + n)[start:] for r, (start, n) in ((r, chunks[r]) for r in requests)]
        )
        groups = list(zip(*(_held(engine, request) for request in requests), strict=True))
        unit = engine.manager.block_size
        first, *further = (
            Batch(requests, starts, counts, table, ids, unit, group[0].window)
            for group, table in zip(groups, self._renewed(groups), strict=True)
        )
        return replace(first, further=tuple(further))

    def _seat(self, scheduled: Collection[Request]) -> None:
        """Who is not scheduled leaves. Who comes takes the row of somebody who left, or one behind all
        others; rows that are still empty are filled from the end."""
        new = set(scheduled).difference(self._requests)
        coming = iter(sorted(new, key=lambda request: (request.order, request.sequence)))
        rows = [request if request in scheduled else next(coming, None) for request in self._requests]
        rows += coming
        for at in reversed(range(len(rows))):
            if rows[at] is None:
                last = rows.pop()
                if at < len(rows):
                    rows[at] = last
        self._requests = [request for request in rows if request is not None]

    def _renewed(self, groups: Sequence[Sequence[View]]) -> list[Table]:
        while len(self._tables) < len(groups):
            self._tables.append(TableRows(self._base))
        return [
            table.renewed([view.rows for view in group])
            for table, group in zip(self._tables, groups, strict=True)
        ]


def _held(engine: Engine, request: Request) -> list[View]:
    """The memory of a request but for its states, for which there are no tensors."""
    return [view for view in views(engine, request) if not view.state]


class TableRows:
    """The block tables of a batch as one array, of which rows are written only where a table has changed."""

    def __init__(self, base: int) -> None:
        self._base = base
        self._array = np.zeros((1, 1), np.int32)
        self._known: list[Sequence[int]] = [()]  # what its rows were made of

    def renewed(self, tables: Sequence[Sequence[int]]) -> Table:
        """[tables, entries of the longest]; behind the entries of a table there may be older ones."""
        rows, columns = len(tables), max(map(len, tables))
        self._make_room(rows, columns)
        for at, table in enumerate(tables):
            if self._known[at] != table:
                self._known[at] = table[:]  # managers go on writing to theirs
                self._array[at, : len(table)] = np.asarray(table, np.int32) + self._base
        return self._array[:rows, :columns]

    def _make_room(self, *wanted: int) -> None:
        """Twice as much as before where that does not do; then everything is written anew."""
        before = self._array.shape
        if any(n > m for n, m in zip(wanted, before, strict=True)):
            sizes = [m if n <= m else max(n, 2 * m) for n, m in zip(wanted, before, strict=True)]
            self._array = np.zeros(sizes, np.int32)
            self._known = [()] * sizes[0]
