"""Attention through block tables is attention without them, in every step of random worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kvtui.backends.ghost import Mismatch
from kvtui.decisions.recorded import rows_of
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.serving.engine import Engine
from tests.backends.tensors import SMALL, AsModelled, on_tensors, torch
from tests.serving.digest import run
from tests.serving.test_ghost import published_early, swapped_entries, truth_of, watched
from tests.serving.test_leaps import contiguous, paged
from tests.serving.test_more_ghost import engine_of
from tests.serving.worlds import world

pytestmark = pytest.mark.torch

WORLDS = (0, 1, 23, 34, 52)  # with preemptions, and prefixes found in the cache


def token_truth(seed: int):
    config, lines = world(seed)
    return truth_of(rows_of(lines, config))


def checked(engine: Engine, **options: object) -> int:
    """Requests checked over a whole run: none may be wrong."""
    lane = on_tensors(engine, **options)
    engine.run()
    assert lane.verifier is not None
    assert lane.verifier.failed == 0, lane.verifier.first
    assert lane.verifier.difference < 1e-5
    return lane.verifier.checked


def test_paged_lanes_read_right() -> None:
    total = preempted = hits = 0
    for seed in WORLDS:
        engine = paged(seed)
        total += checked(engine, truth=token_truth(seed))
        preempted += engine.scheduler.preemptions
        hits += engine.scheduler.prefix.hits
    assert total > 400
    assert preempted > 10
    assert hits > 50


def test_contiguous_lanes_read_right() -> None:
    assert sum(checked(contiguous(seed)) for seed in (0, 1, 3)) > 100


@pytest.mark.parametrize("asynchronous", [False, True])
def test_drafts_are_read_right(asynchronous: bool) -> None:
    engine = engine_of(3, "spec", asynchronous=asynchronous)
    assert checked(engine) > 20


@pytest.mark.parametrize(
    "shape",
    [
        replace(SMALL, kv_heads=4),  # MHA
        replace(SMALL, kv_heads=1),  # MQA
        replace(SMALL, heads=9, kv_heads=3, key_dim=5, value_dim=5),  # as odd as can be
        replace(SMALL, kv_heads=1, key_dim=24, value_dim=16, latent=True),  # MLA
    ],
)
def test_every_kind_of_attention_reads_right(shape) -> None:
    assert checked(paged(23), truth=token_truth(23), shape=shape) > 10


def test_the_lanes_say_the_same() -> None:
    """What a request computes does not depend on where its memory is."""
    said: list[dict[tuple[int, int], int]] = []
    for build in (paged, contiguous):
        engine = build(0)
        lane = on_tensors(engine, truth=token_truth(0))
        said.append({})
        forward = lane.forward

        def listening(batch, watch, forward=forward, lane=lane, heard=said[-1]):
            stream = forward(batch, watch)
            ends = torch.as_tensor(batch.offsets[1:] - 1)
            tokens = lane.decoder.logits(stream[ends]).argmax(-1).tolist()
            for request, context, token in zip(batch.requests, batch.contexts.tolist(), tokens, strict=True):
                heard[request.number, context] = token
            return stream

        lane.forward = listening
        engine.run()
    one, other = said
    both = one.keys() & other.keys()
    assert len(both) > 20
    assert all(one[at] == other[at] for at in both)


@pytest.mark.parametrize("build", [paged, contiguous])
def test_carrying_steps_out_changes_no_decision(build: Callable[[int], Engine]) -> None:
    plain, carried = build(4), build(4)
    on_tensors(carried, verify=0)
    assert isinstance(carried.clock, AsModelled)
    assert run(carried, None) == run(plain, None)


def test_measured_time_is_the_engines_time() -> None:
    engine = paged(2)
    lane = on_tensors(engine, verify=0)
    engine.clock = lane
    engine.run()
    assert engine.meter.time == pytest.approx(sum(lane.parts.values()) * 1e12, rel=1e-6)
    assert set(lane.parts) == {"tables", "write", "attention"}


def test_bytes_are_those_of_the_tensors() -> None:
    engine = paged(0)
    lane = on_tensors(engine)
    pool, manager = lane.pool, engine.manager
    per_token = 2 * 2 * SMALL.kv_heads * 16 * 4  # K and V, layers, heads, size, bytes of a number
    assert pool.bytes == (manager.blocks + 1) * manager.block_size * per_token
    assert pool.bytes == pool.k.untyped_storage().nbytes() + pool.v.untyped_storage().nbytes()


@pytest.mark.parametrize(("bug", "seeds"), [(published_early, (136, 158)), (swapped_entries, (0, 1))])
def test_a_bug_in_a_schedule_is_caught(
    bug: Callable[..., None], seeds: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In worlds in which the ghost pool sees it."""
    bug(monkeypatch)
    for seed in seeds:
        with pytest.raises(Mismatch):
            watched(seed)[0].run()
        engine = watched(seed)[0]
        engine.observer = None
        lane = on_tensors(engine, truth=token_truth(seed))
        engine.run()
        assert lane.verifier.failed


def test_half_precision_reads_right_within_its_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_device import Device

    for dtype in (torch.float16, torch.bfloat16):
        monkeypatch.setattr(Device, "dtype", property(lambda self, dtype=dtype: dtype))
        engine = paged(23)
        lane = on_tensors(engine, truth=token_truth(23))
        engine.run()
        assert lane.verifier.failed == 0
        assert lane.verifier.difference > 1e-4  # it is half precision


def test_early_keys_are_caught_in_half_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_device import Device

    monkeypatch.setattr(Device, "dtype", property(lambda self: torch.bfloat16))
    published_early(monkeypatch)
    engine = watched(136)[0]
    engine.observer = None
    lane = on_tensors(engine, truth=token_truth(136), layers=1)
    while not lane.verifier.failed:
        assert engine.step(), "it is never caught"


@pytest.mark.parametrize("verify", [0, 1])
def test_fresh_units_hold_no_numbers_where_lanes_are_verified(verify: int) -> None:
    engine = paged(23)
    lane = on_tensors(engine, truth=token_truth(23), verify=verify)
    replay, spoilt = lane.pool.replay, []

    def replaying(*args: object, **options: object) -> None:
        replay(*args, **options)
        spoilt.append(bool(lane.pool.k.isnan().any()))

    lane.pool.replay = replaying
    engine.run()
    assert any(spoilt) == bool(verify)


def test_another_token_is_wrong_however_near_its_stream_is() -> None:
    lane = on_tensors(paged(0))
    verifier, apart = lane.verifier, torch.zeros(1)
    request = SimpleNamespace(number=7)
    one, other = lane.decoder.embed(torch.tensor([5, 6]))
    verifier._judge(request, apart, one * (1 + 1e-7), one)
    assert verifier.failed == 0
    verifier._judge(request, apart, other, one)
    assert (verifier.failed, verifier.first) == (1, "request 7 would say another token")


def test_contiguous_regions_are_told_from_nobodys_unit() -> None:
    engine = contiguous(1)
    assert isinstance(engine.manager, ContiguousMemoryManager)
    lane = on_tensors(engine)
    engine.run()
    assert not lane.pool.k[:, 0].any()
    assert not lane.pool.v[:, 0].any()


def test_the_ghost_pool_follows_every_step_where_lanes_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds what is wrong in steps that attention is not compared in."""
    engine = paged(0)
    lane = on_tensors(engine, truth=token_truth(0), verify=10_000)
    engine.run()
    assert lane.verifier.failed == 0, lane.verifier.first
    assert lane.ghost.reads > 5_000
    assert on_tensors(paged(0), verify=0).ghost is None
    swapped_entries(monkeypatch)
    engine = paged(0)
    lane = on_tensors(engine, truth=token_truth(0), verify=10_000)
    engine.run()
    assert lane.verifier.failed
    assert "by block tables alone" in lane.verifier.first
