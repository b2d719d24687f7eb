"""What one step computes, as arrays: which tokens of which requests, and where their K/V is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtui.backends.ghost import Contents, Stories
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

    def settled(self, plan: Plan) -> None:
        """The results of a step are in: sequences that were forked go their own way from here."""
        if isinstance(self._truth, Stories):
            if plan.forks:
                self._truth.fork(plan.forks)
                for sequence, _, _ in plan.forks:
                    self._known.pop(sequence, None)
            for request in plan.finished:
                self._truth.forget(request)

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
    """Tokens that one step computes, request after request.

    R requests, T tokens, M table entries of the longest. Units are counted from 1 in every lane; 0 is the
    unit that nobody owns. Behind the entries of a request, tables may hold anything.
    """

    requests: tuple[Request, ...]
    starts: NDArray[np.int64]  # [R] tokens stored before
    counts: NDArray[np.int64]  # [R] tokens computed now
    tables: NDArray[np.int32]  # [R, M] units in logical order
    ids: Ids  # [T]
    unit: int  # tokens
    window: int | None = None  # tokens that are looked at; None = all
    further: tuple[Batch, ...] = ()  # the same as other groups of layers see it, with their own tables

    @property
    def views(self) -> tuple[Batch, ...]:
        """The step as each group of layers sees it."""
        return (self, *self.further)

    @property
    def contexts(self) -> NDArray[np.int64]:
        """[R] tokens that the last one computed reads, itself included."""
        return self.starts + self.counts

    @property
    def first(self) -> NDArray[np.int64]:
        """[R] first token that is read: that behind which a window begins."""
        if self.window is None:
            return np.zeros_like(self.starts)
        return np.maximum(self.starts + 1 - self.window, 0)

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


def _mixed(contents: NDArray[Any]) -> Ids:
    """Contents as ids: multiplied by an odd constant (Knuth's golden ratio), of which the middle bits are
    taken."""
    spread = contents.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (spread >> np.uint64(40)).astype(np.int64).astype(np.int32) % VOCABULARY
