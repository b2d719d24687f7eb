"""Requests with several sequences on tensors: forks, copies before a write, beams, swaps, pinned prefixes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvtui.backends.ghost import Stories
from kvtui.groups.engine import GroupEngine
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.memory.ops import OpKind, OpLog
from tests.backends.tensors import on_tensors
from tests.sharing.worlds import world

pytestmark = pytest.mark.torch

SEEDS = (8, 11)  # both swap, fork and branch; one pins a prefix
EVERY = 8  # steps between two checks: what was written wrongly is still there then


def carried(seed: int, **options: object) -> tuple[GroupEngine, object]:
    """A world that has run on tensors, and its lane."""
    engine = world(seed)
    lane = on_tensors(engine, truth=Stories(engine.manager.block_size), layers=1, verify=EVERY, **options)
    engine.run()
    return engine, lane


def test_every_sequence_reads_its_own_context() -> None:
    copies = swapped = preempted = checked = pinned = 0
    for seed in SEEDS:
        engine, lane = carried(seed)
        manager = engine.manager
        assert isinstance(manager, ForkingMemoryManager)
        assert lane.verifier.failed == 0, lane.verifier.first
        assert (lane.pool.host.bytes > 0) == (manager.swapped_out > 0)
        copies += manager.copies
        swapped += manager.swapped_in
        preempted += engine.scheduler.preemptions
        pinned += len(manager.pinned_blocks)
        checked += lane.verifier.checked
    assert min(copies, swapped, preempted, pinned) > 5
    assert copies > 500
    assert checked > 300


def to_the_wrong_block(log: OpLog, kind: OpKind, owner: int, blocks: tuple[int, int]) -> None:
    """What comes back lands beside its block."""
    if kind is OpKind.IN:
        blocks = (blocks[0], blocks[1] - 1 or 2)
    add(log, kind, owner, blocks)


def nothing_goes_out(log: OpLog, kind: OpKind, owner: int, blocks: tuple[int, int]) -> None:
    """Blocks are freed, and their content was never copied."""
    if kind is not OpKind.OUT:
        add(log, kind, owner, blocks)


def nothing_comes_back(log: OpLog, kind: OpKind, owner: int, blocks: tuple[int, int]) -> None:
    if kind is not OpKind.IN:
        add(log, kind, owner, blocks)


add = OpLog.add
BUGS = (to_the_wrong_block, nothing_goes_out, nothing_comes_back)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpLog, "add", bug)
    _, lane = carried(SEEDS[1])
    assert lane.verifier.failed
