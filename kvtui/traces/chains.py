"""Prefix identity: ids of token blocks, made into ids of whole prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain as concatenate

import numpy as np

from kvtui.traces.workload import Ints

_WRAP = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Chains:
    """Chain ids of requests in order of arrival, as in Workload."""

    unit: int
    ids: Ints
    start: Ints
    identified: Ints


@dataclass
class BlockIds:
    """Lists of block ids as the file has them, one list a row: integers up to 64 bits, or strings."""

    _ids: list[Ints] = field(default_factory=list)
    _counts: list[Ints] = field(default_factory=list)
    _names: dict[object, int] = field(default_factory=dict)
    _apart: int = -(2**62)  # the next number for an id that stands apart, where files seldom have any

    def add(self, rows: Sequence[object], *, apart: bool = False) -> None:
        """Take the lists of some rows; anything but a list of integers or strings counts as no ids.

        Ids taken `apart` equal none of other calls.
        """
        lists = [row if isinstance(row, list) and set(map(type, row)) <= {int, str} else [] for row in rows]
        flat = list(concatenate.from_iterable(lists))
        ids = self._numbers(flat) if set(map(type, flat)) <= {int} else self._named(flat)
        if apart:
            names, inverse = np.unique(ids, return_inverse=True)
            ids, self._apart = inverse + self._apart, self._apart + len(names)
        self.append(ids, np.array([len(row) for row in lists], np.int64))

    def append(self, ids: Ints, counts: Ints) -> None:
        """Take some rows' ids, one behind the other, and how many each row has."""
        self._ids.append(ids)
        self._counts.append(counts)

    def _numbers(self, flat: list[int]) -> Ints:
        try:
            return np.array(flat, np.int64)
        except OverflowError:  # unsigned 64-bit hashes: only equality counts
            return np.array([value & _WRAP for value in flat], np.uint64).view(np.int64)

    def _named(self, flat: list[object]) -> Ints:
        # Below zero, so that a file with names in one row and numbers in another does not mix them up.
        return np.array([self._names.setdefault(name, -1 - len(self._names)) for name in flat], np.int64)

    def in_order(self, order: Ints) -> tuple[Ints, Ints]:
        """Ids and where each row's begin, rows rearranged."""
        ids, counts = np.concatenate(self._ids), np.concatenate(self._counts)
        begin = (np.cumsum(counts) - counts)[order]
        start = np.concatenate(([0], np.cumsum(counts[order])))
        place = np.repeat(begin - start[:-1], counts[order]) + np.arange(len(ids))
        return ids[place], start


def _are_prefixes(ids: Ints, start: Ints, first: Ints) -> bool:
    """Whether each id always follows the same one: it stands for all before it. `first`: its first place."""
    before = np.empty_like(ids)
    before[1:] = ids[:-1]
    heads = start[:-1][np.diff(start) > 0]
    is_head = np.zeros(len(ids), np.bool_)
    is_head[heads] = True
    before[heads] = 0
    return bool((before == before[first]).all() and (is_head == is_head[first]).all())


def chained(ids: Ints, start: Ints) -> Ints:
    """Ids of blocks as ids of prefixes: equal where the block and everything before it in its row are equal.

    Works for ids that name a block alone and for ids that stand for the whole prefix already.
    """
    if not len(ids):
        return ids
    names, first, block = np.unique(ids, return_index=True, return_inverse=True)
    if _are_prefixes(ids, start, first[block]):
        rank = np.empty(len(names), np.int64)
        rank[np.argsort(first)] = np.arange(len(names))
        return rank[block]
    length = np.diff(start)
    longest_first = np.argsort(-length, kind="stable")
    deep = np.searchsorted(-length[longest_first], -np.arange(length.max()), side="left")
    prefix = np.zeros(len(length), np.int64)
    out, known = np.empty_like(ids), 0
    for level, count in enumerate(deep):
        rows = longest_first[:count]
        place = start[rows] + level
        pairs, prefix[rows] = np.unique(prefix[rows] * len(names) + block[place], return_inverse=True)
        out[place] = prefix[rows] + known
        known += len(pairs)
    return out
