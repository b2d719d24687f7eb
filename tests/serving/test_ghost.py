"""Every scheduled request reads its own context through its block table, in every step of random worlds."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from kvtui.backends.ghost import Contents, GhostObserver, Mismatch, contents_of
from kvtui.decisions.recorded import Row, prepare, rows_of
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.request import Request
from kvtui.serving.rules import NEWEST, RELEASES
from tests.memory.ghost_driver import prefix_hashes
from tests.serving.test_leaps import contiguous
from tests.serving.worlds import world

SEEDS = range(150)


def truth_of(rows: list[Row]) -> Callable[[Request], Contents]:
    """Contents from the tokens themselves, not from any key."""
    known: dict[int, Contents] = {}

    def truth(request: Request) -> Contents:
        if request.number not in known:
            row = rows[request.number]
            salt = [hash(("salt", row.source.get("cache_salt")))]
            known[request.number] = prefix_hashes(salt + [hash(t) for t in row.tokens + row.outputs])[1:]
        return known[request.number]

    return truth


def watched(seed: int) -> tuple[Engine, GhostObserver]:
    config, lines = world(seed)
    release = random.Random(seed).choice([NEWEST] * 3 + list(RELEASES))
    engine, _ = prepare(config | {"max_steps": 500}, lines, vllm=release)
    return engine, GhostObserver(engine, truth_of(rows_of(lines, config)))


@pytest.mark.parametrize("limit", [1, UNLIMITED])
def test_paged_lanes_read_right(limit: int) -> None:
    reads = preempted = 0
    for seed in SEEDS:
        engine, ghost = watched(seed)
        while engine.step(limit):
            pass
        reads += ghost.reads
        preempted += engine.scheduler.preemptions
    assert reads > 100_000
    assert preempted > 200


def test_contiguous_lanes_read_right() -> None:
    for seed in range(40):
        engine = contiguous(seed)
        ghost = GhostObserver(engine, lambda r: np.arange(r.prompt + r.output) + 1000 * r.number)
        engine.run()
        assert ghost.reads or not engine.results.finished


def test_contents_by_key_agree_with_contents_by_token() -> None:
    for seed in range(40):
        config, lines = world(seed)
        engine, _ = prepare(config | {"max_steps": 500}, lines)
        size = config["block_size"]
        first: dict[int, Contents] = {}
        ghost = GhostObserver(engine, lambda r, f=first, s=size: f.setdefault(r.number, contents_of(r, s)))
        engine.run()
        assert ghost.reads or not engine.output_tokens


def published_early(patch: pytest.MonkeyPatch) -> None:
    """Blocks can be found before their contents are computed."""
    original = PagedMemoryManager.register

    def register(self: PagedMemoryManager, request: Request, upto: int) -> None:
        original(self, request, len(request.table) * self.block_size)

    patch.setattr(PagedMemoryManager, "register", register)


def swapped_entries(patch: pytest.MonkeyPatch) -> None:
    """Two entries of a block table change places."""
    original = PagedMemoryManager.stop

    def stop(self: PagedMemoryManager, request: Request) -> None:
        original(self, request)
        for other in self.wheel.all():
            if len(other.table) > 2:
                other.table[0], other.table[1] = other.table[1], other.table[0]

    patch.setattr(PagedMemoryManager, "stop", stop)


@pytest.mark.parametrize("bug", [published_early, swapped_entries])
def test_a_planted_bug_is_caught(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    found = 0
    for seed in SEEDS:
        engine, _ = watched(seed)
        try:
            engine.run()
        except (Mismatch, AssertionError, KeyError, ValueError):
            found += 1
    assert found >= 2
