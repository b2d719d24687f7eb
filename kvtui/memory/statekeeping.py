"""Which states of Mamba layers others can go on from, and when: kept in blocks of the pool under a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvtui.memory.group import Group
from kvtui.memory.pool import BlockPool
from kvtui.memory.retention import Retention
from kvtui.memory.states import Checkpoints, StateGroup
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules

Key = Callable[[Request, int, int], int]  # (request, group, tokens) -> key of the block that ends there


class StateKeeping:
    """The states in the blocks of `pool` that the state groups among `groups` hold."""

    def __init__(
        self, groups: Sequence[Group], rules: Rules, retention: Retention, pool: BlockPool, key: Key
    ) -> None:
        self._groups = groups
        self._retention = retention
        self._pool = pool
        self._key = key
        self._first, states = next((n, g) for n, g in enumerate(groups) if isinstance(g, StateGroup))
        self._scratch = states.scratch
        self.checkpoints = Checkpoints.under(rules, states.size, within=states.within)

    def in_the_making(self, found: Sequence[list[int]]) -> bool:
        """Whether a hit of blocks `found` stands on a state that is computed only in this step."""
        fresh = self.checkpoints.fresh
        tables = (table for group, table in zip(self._groups, found, strict=True) if not group.full)
        return bool(fresh) and any(self._pool.key_of(table[-1]) in fresh for table in tables if table)

    def on_the_way(self, request: Request, start: int, end: int) -> tuple[int, int] | None:
        """The state that the request saves besides its last one as it computes [start, end): (tokens, place
        in the tables)."""
        points = self.checkpoints
        if not points.within:
            return None
        whole = max(request.prompt, request.known - 1) if self._retention.sparse else 0
        if not request.tables:
            return points.on_the_way([], start, end, whole, spare=0)
        return points.on_the_way(request.tables[self._first], start, end, whole, spare=self._scratch)

    def keep(self, request: Request, group: int, first: int, tokens: int) -> None:
        """Of the states in blocks that were offered to the cache from number `first` on, and of the one that
        was saved on the way: those that others can go on from. `tokens` could be hit now."""
        points, table, pool = self.checkpoints, request.tables[group], self._pool
        if request.checkpoint is not None:
            self._keep_checkpoint(request, group, *request.checkpoint)
        elif tokens and tokens == points.last(request.prompt) and table[tokens // points.size - 1]:
            block, key = table[tokens // points.size - 1], self._key(request, group, tokens)
            known = pool.key_of(block) == key
            if not known:
                pool.rename(block, key)
            if not (known and points.new_once):
                points.fresh.add(key)
        made = (pool.key_of(table[n]) for n in range(first, request.offered[group]) if table[n])
        points.fresh.update(key for key in made if key is not None)

    def _keep_checkpoint(self, request: Request, group: int, tokens: int, place: int) -> None:
        points, block = self.checkpoints, request.tables[group][place]
        wanted = tokens in (points.last(request.prompt), request.boundary)
        if not wanted and not self._retention.ends_segment(self._groups[group], tokens // points.size - 1):
            self._pool.disown(block)
        elif self._pool.key_of(block) != (key := self._key(request, group, tokens)):
            self._pool.rename(block, key)
            points.fresh.add(key)
