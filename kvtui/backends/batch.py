"""What one step computes, as arrays: which tokens of which requests, and where their K/V is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtui.backends.ghost import Contents, chunks_of, views
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request

VOCABULARY = 4096
Ids = NDArray[np.int32]


class TokenIds:
    """Token ids of requests: a fixed function of what each token stands for, its whole prefix included, so
    that equal prefixes have equal ids and others have not."""

    def __init__(self, truth: Callable[[Request], Contents]) -> None:
        self._truth = truth
        self._known: dict[Request, Ids] = {}

    def of(self, request: Request, upto: int) -> Ids:
        """Ids of the first `upto` tokens; of drafts behind the last token, anything."""
        ids = self._all(request)
        return ids[:upto] if upto <= len(ids) else np.concatenate([ids, np.zeros(upto - len(ids), np.int32)])

    def length(self, request: Request) -> int:
        """Tokens that mean something."""
        return len(self._all(request))

    def _all(self, request: Request) -> Ids:
        ids = self._known.get(request)
        if ids is None:
            self._forget_ended()
            ids = self._known[request] = _mixed(self._truth(request))
        return ids

    def _forget_ended(self) -> None:
        ended = (Phase.FINISHED, Phase.ABORTED)
        self._known = {r: ids for r, ids in self._known.items() if r.phase not in ended}


@dataclass(frozen=True)
class Batch:
    """Tokens that one step computes, request after request, in batch order.

    R requests, T tokens, M table entries of the longest. Units are counted from 1 in every lane; 0 is the
    unit that nobody owns.
    """

    requests: tuple[Request, ...]
    starts: NDArray[np.int64]  # [R] tokens stored before
    counts: NDArray[np.int64]  # [R] tokens computed now
    tables: NDArray[np.int32]  # [R, M] units in logical order
    ids: Ids  # [T]
    unit: int  # tokens

    @property
    def contexts(self) -> NDArray[np.int64]:
        """[R] tokens that the last one computed reads, itself included."""
        return self.starts + self.counts

    @property
    def rows(self) -> NDArray[np.int64]:
        """[T] place of each token's request."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """[R + 1] where the tokens of each request begin."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def positions(self) -> NDArray[np.int64]:
        """[T] place of each token in its request."""
        within = np.arange(int(self.counts.sum())) - np.repeat(self.offsets[:-1], self.counts)
        result: NDArray[np.int64] = np.repeat(self.starts, self.counts) + within
        return result

    @property
    def slots(self) -> NDArray[np.int64]:
        """[T] where the K/V of each token goes."""
        at = self.positions
        result: NDArray[np.int64] = self.tables[self.rows, at // self.unit].astype(np.int64) * self.unit
        return result + at % self.unit


def batch_of(engine: Engine, plan: Plan, tokens: TokenIds) -> Batch | None:
    """The batch of a step; None where nothing is computed."""
    chunks = sorted(chunks_of(engine, plan).items(), key=lambda chunk: chunk[0].order)
    if not chunks:
        return None
    base = 1 if engine.manager.reserves else 0
    requests = tuple(request for request, _ in chunks)
    starts = np.array([start for _, (start, _) in chunks], np.int64)
    counts = np.array([n for _, (_, n) in chunks], np.int64)
    rows = [np.asarray(views(engine, request)[0].rows, np.int32) + base for request in requests]
    tables = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for at, row in enumerate(rows):
        tables[at, : len(row)] = row
    ids = [tokens.of(r, start + n)[start:] for r, (start, n) in chunks]
    return Batch(requests, starts, counts, tables, np.concatenate(ids), engine.manager.block_size)


def _mixed(contents: NDArray[Any]) -> Ids:
    """Contents as ids: multiplied by an odd constant (Knuth's golden ratio), of which the middle bits are
    taken."""
    spread = contents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (spread >> np.uint64(40)).astype(np.int64).astype(np.int32) % VOCABULARY
