"""Drafts, windows and hybrid models: every request reads its own context, group by group, and the picture of
the memory agrees with the block tables."""

from __future__ import annotations

import pytest

from kvtui.backends.ghost import GhostObserver, Mismatch
from kvtui.decisions.recorded import prepare, rows_of
from kvtui.frames.camera import Camera
from kvtui.frames.frame import Cell
from kvtui.memory.group import Group
from kvtui.memory.pool import BlockPool
from kvtui.memory.statekeeping import StateKeeping
from kvtui.memory.states import Checkpoints
from kvtui.serving.engine import UNLIMITED, Engine
from tests.serving.digest import Price, run
from tests.serving.test_ghost import truth_of
from tests.vllm.more_worlds import KINDS, STATE_KINDS, more_world

SEEDS = range(50)
ALL_KINDS = (*KINDS, *STATE_KINDS)


def engine_of(seed: int, kind: str, *, asynchronous: bool) -> Engine:
    config, lines = more_world(seed, kind, asynchronous=asynchronous)
    engine, _ = prepare(config | {"max_steps": 300}, lines)
    engine.observer = engine.manager.log = None
    return engine


def watched(seed: int, kind: str, *, asynchronous: bool) -> GhostObserver:
    config, lines = more_world(seed, kind, asynchronous=asynchronous)
    # By priority a victim may have been scheduled in the same step. vLLM leaves its blocks in the cache
    # although nobody computes them: whoever finds them reads what was there before.
    engine, _ = prepare(config | {"max_steps": 300, "policy": "fcfs"}, lines)
    ghost = GhostObserver(engine, truth_of(rows_of(lines, config)))
    engine.run()
    return ghost


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_group_reads_right(kind: str, asynchronous: bool) -> None:
    assert sum(watched(seed, kind, asynchronous=asynchronous).reads for seed in SEEDS) > 50_000


def left_too_early(patch: pytest.MonkeyPatch) -> None:
    """Windows are one block shorter than they are."""
    original = Group.skipped
    patch.setattr(Group, "skipped", lambda self, n: original(self, n + self.size) if self.window else 0)


def handed_to_another_group(patch: pytest.MonkeyPatch) -> None:
    """Groups find one another's blocks."""
    register, find = BlockPool.rename, BlockPool.find
    patch.setattr(BlockPool, "rename", lambda self, block, key: register(self, block, key // 2))
    patch.setattr(BlockPool, "find", lambda self, key: find(self, key // 2))


def found_in_the_making(patch: pytest.MonkeyPatch) -> None:
    """A request goes on from a state that is only computed in the same step."""
    patch.setattr(StateKeeping, "in_the_making", lambda self, found: False)


def saved_nowhere(patch: pytest.MonkeyPatch) -> None:
    """Chunks of prompts end anywhere, and not where states are kept."""
    patch.setattr(Checkpoints, "chunk_of", lambda self, request, start, tokens: tokens)


BUGS = [
    (left_too_early, "window"),
    (handed_to_another_group, "window"),
    (handed_to_another_group, "state"),
    (found_in_the_making, "state"),
    (saved_nowhere, "state"),
]


@pytest.mark.parametrize(("bug", "kind"), BUGS)
def test_a_planted_bug_is_caught(bug, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = 0
    for seed in SEEDS:
        try:
            watched(seed, kind, asynchronous=False)
        except (Mismatch, AssertionError, KeyError):
            found += 1
    assert found >= 2


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_pictures_agree_with_the_memory(kind: str, asynchronous: bool) -> None:
    for seed in range(25):
        engine = engine_of(seed, kind, asynchronous=asynchronous)
        camera = Camera(engine, engine.manager)
        going = True
        while going:
            going = engine.step()
            picture, manager = camera.frame(), engine.manager
            held = picture.cells.state == Cell.HELD
            levels = manager.levels(None)
            assert held.sum() == manager.blocks - manager.free_blocks
            assert (picture.cells.state == Cell.CACHED).sum() * manager.block_size == levels.cached
            filled = int(picture.cells.stored[held].sum())
            assert filled == engine.scheduler.stored - levels.twice
            assert (picture.cells.owner[held] >= 0).all()
            assert min(picture.counters.split) >= 0
        engine.manager.pool.check()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_any_number_of_steps_a_call_gives_one_run(kind: str) -> None:
    for seed in range(15):
        digests = []
        for limit in (1, UNLIMITED):
            engine = engine_of(seed, kind, asynchronous=bool(seed % 2))
            engine.cost = Price()
            digests.append(run(engine, limit))
        assert digests[0] == digests[1]
