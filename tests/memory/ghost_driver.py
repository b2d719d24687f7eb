"""Random work on a manager by name, with real tokens, watched by the ghost pool."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from kvtui.backends.ghost import GhostPool
from kvtui.memory.ops import OpLog
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.request import Request

Tokens = list[int]


def prefix_hashes(tokens: Tokens) -> np.ndarray:
    """One number a token that stands for all tokens up to it."""
    hashes, value = [], 17
    for token in tokens:
        value = hash((value, token)) & 0x7FFF_FFFF_FFFF
        hashes.append(value)
    return np.array(hashes, np.int64)


def chain_keys(tokens: Tokens, size: int) -> list[int]:
    """Keys of the full blocks: each names its block and everything before it."""
    return [int(prefix_hashes(tokens)[i + size - 1]) for i in range(0, len(tokens) - size + 1, size)]


class WrongRead(AssertionError):
    pass


class Driver:
    """Allocates, appends, forks and frees at random; everybody reads its whole context after each act."""

    def __init__(
        self,
        seed: int,
        manager: PagedMemoryManager,
        *,
        keys: Callable[[Tokens, int], list[int]] = chain_keys,
    ) -> None:
        self.rng = random.Random(seed)
        self.manager = manager
        self.log = manager.log = OpLog()
        self.ghost = GhostPool(manager.blocks, manager.block_size)
        self.keys = keys
        self.tokens: dict[str, Tokens] = {}
        self.prompts = [[self.rng.randrange(3) for _ in range(40)] for _ in range(2)]
        self.copies = self.hits = 0

    def run(self, acts: int) -> None:
        for act in range(acts):
            name = self.rng.choice(sorted(self.tokens)) if self.tokens else None
            roll = self.rng.random()
            if name is None or roll < 0.25:
                self._allocate(f"s{act}")
            elif roll < 0.65:
                self._append(name)
            elif roll < 0.8:
                self._fork(name, f"s{act}")
            else:
                self.manager.free(name)
                del self.tokens[name]
            self.ghost.replay(self.log.drain())
            self._read_all()

    def _request(self, name: str) -> Request:
        return self.manager.handles[name]

    def _allocate(self, name: str) -> None:
        common = self.rng.choice(self.prompts)[: self.rng.randint(0, 30)]
        tokens = common + [self.rng.randrange(3) for _ in range(self.rng.randint(1, 12))]
        hit = self.manager.allocate(name, len(tokens), keys=self.keys(tokens, self.manager.block_size))
        if hit is not None:
            self.hits += hit
            self.tokens[name] = tokens
            self._write(name, hit)

    def _append(self, name: str) -> None:
        before = self._request(name).table[-1]
        if self.manager.append(name):
            self.copies += before not in self._request(name).table
            self.tokens[name] = [*self.tokens[name], self.rng.randrange(50)]
            self._write(name, len(self.tokens[name]) - 1)

    def _fork(self, name: str, child: str) -> None:
        if self.manager.fork(name, child):
            self.tokens[child] = self.tokens[name]

    def _write(self, name: str, start: int) -> None:
        self.ghost.replay(self.log.drain())
        self.ghost.write(self._request(name).table, start, prefix_hashes(self.tokens[name])[start:])

    def _read_all(self) -> None:
        for name, tokens in self.tokens.items():
            got = self.ghost.read(self._request(name).table, len(tokens))
            if (got != prefix_hashes(tokens)).any():
                raise WrongRead(name)
