"""KV events as vLLM would publish them, made from the block tables of a paged lane: the truth is known."""

from __future__ import annotations

from typing import Any

import kvtui
from kvtui.live.kvevents import Batch, Change, Removed, Stored
from kvtui.serving.request import Request


class World:
    """A lane, step for step. `batches` are what it published; `owners` who stored a block of its own."""

    def __init__(self, trace: Any, lane: str = "paged", **settings: Any) -> None:
        self.lane = kvtui.side_by_side(trace, [lane], **settings).build(watched=False)[0]
        self.engine: Any = self.lane.engine
        self.size: int = self.engine.manager.block_size
        self.batches: list[tuple[int, Batch]] = []
        self.owners: dict[int, int] = {}
        self.truth: dict[int, tuple[int, int]] = {}
        self.held: dict[int, int] = {}  # physical block -> its content
        self._names: dict[object, int] = {}
        self._shared: dict[int, int] = {}  # of each request, leading blocks that others may have
        self._stored: dict[int, int] = {}  # of each running one, leading blocks that were told of
        self._changes: list[Change] = []
        release = self.engine.manager.release

        def told(request: Request, stored: int, **options: Any) -> None:
            self._tell(request, stored)
            self._stored.pop(request.number, None)
            release(request, stored, **options)

        self.engine.manager.release = told

    def run(self) -> World:
        while not self.engine.done:
            self.engine.step(1)
            running = list(self.engine.scheduler.running.values())
            self._take_away(running)
            for request in running:
                self._tell(request, request.stored(self.engine.scheduler.step))
            if self._changes:
                time_s = self.engine.now_ps / 1e12
                self.batches.append((len(self.batches), Batch(time_s, tuple(self._changes))))
                self._changes = []
        return self

    def _take_away(self, running: list[Request]) -> None:
        """Blocks that somebody writes to have lost what they held."""
        for request in running:
            stored = self._stored.get(request.number, 0)
            for at, block in enumerate(request.table):
                if at >= stored and block in self.held and self.held[block] != self._content(request, at):
                    self._changes.append(Removed((self.held.pop(block),)))

    def _tell(self, request: Request, stored: int) -> None:
        self.truth[request.number] = (request.prompt, request.output)
        new: list[int] = []
        first = self._stored.get(request.number, 0)
        full = stored // self.size
        for at in range(first, full):
            block, content = request.table[at], self._content(request, at)
            if self.held.get(block) != content:
                if block in self.held:
                    self._changes.append(Removed((self.held[block],)))
                self.held[block] = content
                new.append(at)
        self._stored[request.number] = max(first, full)
        if new:
            parent = self._content(request, new[0] - 1) if new[0] else None
            hashes = tuple(self._content(request, at) for at in new)
            self._changes.append(Stored(hashes, self.size, 0, parent))

    def _content(self, request: Request, at: int) -> int:
        """A number for all up to the end of a block."""
        shared = self._shared.setdefault(request.number, len(request.keys))
        name = ("shared", request.keys[at]) if at < shared else (request.number, at)
        number = self._names.setdefault(name, len(self._names))
        if at >= shared:
            self.owners[number] = request.number
        return number
