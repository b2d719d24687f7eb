"""Prefix hits of several groups of layers: the longest prefix that all of them hold.

Full attention needs every block from the start on and is searched from the left. A window needs only the
blocks that its next token looks at and is searched from the right, for the last place where they all are; a
state needs only the block that it stands in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from kvtui.memory.group import Group, Kind
from kvtui.memory.hits import Hits

Row = list[int]  # one block of each group of a kind
Find = Callable[[int, int], int | None]  # (group, block number) -> block


class Agreement:
    """How the hits of `groups` come together. Hits end at multiples of `align` tokens."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self.align = math.lcm(*(g.size for g in groups))
        kinds: dict[Kind, list[int]] = {}
        for at, group in enumerate(groups):
            kinds.setdefault(group.kind, []).append(at)
        # Full attention first; `sorted` keeps the order of the rest.
        self._kinds = sorted(kinds.values(), key=lambda ids: not groups[ids[0]].full)

    def hits(self, find: Find, known: int, hashed: int) -> Hits:
        """Hits of a request with `known` tokens, `hashed` of them in blocks that have a key."""
        if len(self._groups) == 1:
            rows, tokens = self._search(find, [0], known - 1, self._groups[0].further)
            return Hits([], 0, tokens, ([block for (block,) in rows],))
        return self._agreed(find, known - 1, hashed)

    def _agreed(self, find: Find, length: int, hashed: int) -> Hits:
        """Shorten the prefix until every kind holds all of it."""
        kinds, groups = self._kinds, self._groups
        simple = len(kinds) == 2 and groups[kinds[0][0]].full
        found: dict[int, list[Row]] = {}  # first group of a kind -> what it holds
        reached: dict[int, int] = {}
        proven: set[int] = set()  # kinds that were searched one block further
        longest, agreed = 0, False
        while not agreed:
            now = length
            for ids in kinds:
                first = ids[0]
                group = groups[first]
                if group.full and first in reached:
                    now = min(now, reached[first])  # what is held from the start on does not change
                    continue
                further = group.further and first not in proven
                shift = bool(further and group.shift)
                most = min(now + group.size, hashed) if shift else now
                found[first], tokens = self._search(find, ids, most, shift)
                if further:
                    proven.add(first)
                elif tokens < now:
                    proven.clear()
                now = reached[first] = tokens
                longest = max(longest, now)
            agreed = now >= length or simple
            length = min(length, now)
        return Hits([], 0, length, self._tables(found, length), longest if longest > length else 0)

    def _tables(self, found: dict[int, list[Row]], length: int) -> list[list[int]]:
        tables: list[list[int]] = [[] for _ in self._groups]
        for ids in self._kinds:
            group, rows = self._groups[ids[0]], found[ids[0]]
            if group.full:
                rows = rows[: group.blocks_for(length)]
            for column, at in enumerate(ids):
                tables[at] = [row[column] for row in rows]
        return tables

    def _search(self, find: Find, ids: list[int], most: int, further: bool) -> tuple[list[Row], int]:
        """What all groups of a kind hold of the first `most` tokens. A hit proven one block `further` than
        needed gives that block up."""
        full = self._groups[ids[0]].full
        return (self._from_left if full else self._from_right)(find, ids, most, further)

    def _from_left(self, find: Find, ids: list[int], most: int, further: bool) -> tuple[list[Row], int]:
        size = self._groups[ids[0]].size
        rows: list[Row] = []
        while len(rows) < most // size and (row := _row(find, ids, len(rows))):
            rows.append(row)
        tokens = len(rows) * size
        if further and tokens:
            tokens -= size
        tokens -= tokens % self.align
        return rows[: tokens // size], tokens

    def _from_right(self, find: Find, ids: list[int], most: int, further: bool) -> tuple[list[Row], int]:
        """The rightmost run that covers a window; at the very start a shorter run will do."""
        group = self._groups[ids[0]]
        size = group.size
        proof = group.proof - group.shift + further
        blocks = most // size
        rows: list[Row] = [[0] * len(ids) for _ in range(blocks)]
        run, end = 0, None
        for at in range(blocks - 1, -1, -1):
            row = _row(find, ids, at)
            if not row:
                run = 0
                continue
            if run == 0 and (at + (not further)) * size % self.align:
                continue
            rows[at] = row
            run += 1
            if run >= proof:
                end = at + run
                break
        del rows[run if end is None else end :]
        if end is None:
            self._align(rows, size)
        if further and rows:
            rows.pop()
            self._align(rows, size)
        return rows, len(rows) * size

    def _align(self, rows: list[Row], size: int) -> None:
        while len(rows) * size % self.align:
            rows.pop()


def _row(find: Find, ids: list[int], at: int) -> Row:
    """Block number `at` of every group, or nothing where one lacks it."""
    row = []
    for group in ids:
        block = find(group, at)
        if block is None:
            return []
        row.append(block)
    return row
