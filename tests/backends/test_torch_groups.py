"""Layers with windows on tensors: a block table for each group of layers, one pool for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kvtui.backends.batch import Batch
from kvtui.comparison.layers import state_bytes
from kvtui.decisions.recorded import prepare, rows_of
from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.hardware.catalogue import ModelSpec
from kvtui.memory.grouped import GroupedMemoryManager
from tests.backends.runs import LANES, experiment, on_cpu
from tests.backends.tensors import TorchLane, on_tensors
from tests.serving.test_ghost import truth_of
from tests.serving.test_more_ghost import handed_to_another_group, left_too_early
from tests.vllm.more_worlds import more_world

pytestmark = pytest.mark.torch

EVERY = 3  # steps between two checks
SEEDS = (9, 16)  # two groups and five, with windows and without


def carried(seed: int) -> tuple[GroupedMemoryManager, TorchLane]:
    """A world that has run on tensors, one layer in each group, and its lane."""
    config, lines = more_world(seed, "window")
    engine, _ = prepare(config | {"max_steps": 60, "policy": "fcfs"}, lines)
    engine.observer = None
    manager = engine.manager
    assert isinstance(manager, GroupedMemoryManager)
    assert all(group.size == manager.block_size for group in manager.groups)
    windows = [group.window for group in manager.groups]
    truth = truth_of(rows_of(lines, config))
    lane = on_tensors(engine, truth=truth, layers=1, windows=windows, verify=EVERY)
    engine.run()
    return manager, lane


def test_every_group_reads_right() -> None:
    checked, left = 0, 0
    for seed in SEEDS:
        manager, lane = carried(seed)
        assert lane.verifier.failed == 0, lane.verifier.first
        assert lane.verifier.difference < 1e-5
        assert lane.pool.layers == 1  # all groups share the pool
        checked += lane.verifier.checked
        left += manager.evictions
    assert checked > 120
    assert left > 10


def reads_too_much(patch: pytest.MonkeyPatch) -> None:
    """Attention sees a token more than the window has."""
    from kvtui.backends import torch_sent

    original = torch_sent.seen_by

    def wider(*args: object) -> tuple[Batch, ...]:
        return tuple(replace(v, window=v.window and v.window + 1) for v in original(*args))

    patch.setattr(torch_sent, "seen_by", wider)


BUGS = [(left_too_early, 23), (handed_to_another_group, 9), (reads_too_much, 17)]


@pytest.mark.parametrize(("bug", "seed"), BUGS)
def test_a_planted_bug_is_caught(
    bug: Callable[[pytest.MonkeyPatch], None], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    assert carried(seed)[1].verifier.failed


def test_a_model_with_windows_has_layers_of_each_kind() -> None:
    """Small copies of a model: half of its layers look back 24 tokens."""
    model = catalogue.model("gpt-oss-20b")
    groups = tuple(
        g._replace(kv_heads=1, head_dim=16, window=g.window and 24, layers=2) for g in model.kv_groups
    )
    small = model._replace(layers=4, heads=2, kv_heads=1, head_dim=16, kv_groups=groups)
    tried = on_cpu(replace(experiment(*LANES), model=small), verify=2)
    contiguous, paged = tried.build(watched=False)
    said = []
    for lane in (contiguous, paged):
        lane.run()
        said.append(lane.times.report())
        assert said[-1]["verify"]["failed"] == 0, said[-1]
        assert said[-1]["verify"]["checked"] > 20
        assert (said[-1]["kv_layers"], said[-1]["model_layers"]) == (2, 4)
    unit = 8 * said[0]["bytes_per_token"]  # that belongs to nobody; there is half as much of it in blocks
    assert said[0]["allocated_bytes"] - unit == said[1]["allocated_bytes"] - unit // 2
    assert said[0]["bytes_per_token"] == 2 * said[1]["bytes_per_token"]


def hybrid() -> ModelSpec:
    """A small copy of a model: three of four layers keep a state."""
    model = catalogue.model("qwen3.5-35b-a3b")
    groups = tuple(
        g._replace(layers=6, state=g.state._replace(channels=32, numbers=128))
        if g.state is not None
        else g._replace(kv_heads=1, head_dim=16, layers=2)
        for g in model.kv_groups
    )
    return model._replace(layers=8, heads=2, kv_heads=1, head_dim=16, kv_groups=groups)


def test_beside_states_attention_reads_right_and_states_are_said_not_to_be_held() -> None:
    model = hybrid()
    tried = on_cpu(replace(experiment(*LANES), model=model, slots=2048, max_len=128), verify=1)
    lanes = tried.build(watched=False)
    for lane in lanes:
        lane.run()
        said = lane.times.report()
        assert said["verify"]["failed"] == 0, said
        assert said["verify"]["checked"] > 50
        assert (said["kv_layers"], said["model_layers"]) == (1, 2)
        assert said["states"] == {"layers": 6, "held": False, "bytes_of_a_request": state_bytes(model)}
        slots = (lane.engine.manager.blocks + 1) * lane.engine.manager.block_size
        assert said["allocated_bytes"] == slots * said["bytes_per_token"]
    manager = lanes[1].engine.manager
    assert isinstance(manager, GroupedMemoryManager)
    assert manager.tables > 1  # blocks of states come out of the same pool
    assert "not held on the device" in " ".join(tried.assumptions)


def test_layers_of_several_widths_have_no_tensors() -> None:
    model = catalogue.model("gpt-oss-20b")
    wide, narrow = model.kv_groups
    tried = replace(
        experiment(), model=model._replace(kv_groups=(wide, narrow._replace(kv_heads=4))), slots=2**14
    )
    with pytest.raises(ConfigError, match="differ in their K/V heads"):
        on_cpu(tried)
