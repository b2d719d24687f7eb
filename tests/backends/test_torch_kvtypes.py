"""K/V stored in other types than attention computes in: 16 bits, and 8 with a scale."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from kvtui.backends.torch_verify import TOLERANCE
from kvtui.hardware import catalogue
from kvtui.hardware.kvtypes import token_bytes
from tests.backends.runs import experiment, on_cpu
from tests.backends.tensors import CPU, SMALL, on_tensors, torch
from tests.backends.test_torch_lane import token_truth
from tests.serving.test_ghost import swapped_entries
from tests.serving.test_leaps import paged

pytestmark = pytest.mark.torch

KINDS = ("bf16", "fp16", "fp8", "fp8_per_token_head", "int8_per_token_head")
LARGEST_ERROR = {"fp8": 1 / 16, "fp8_per_token_head": 1 / 16, "int8_per_token_head": 1 / 100}


def kind_of(name: str):
    from kvtui.backends.torch_kvtypes import KvType

    return KvType(name, CPU)


@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_numbers_come_back_nearly_as_they_were(name: str) -> None:
    """8 bits leave three behind the point of a number, or of the largest in its row."""
    x = torch.randn(50, 2, 16, generator=torch.Generator().manual_seed(1))
    back = kind_of(name).rounded(x)
    size = x.abs().amax(-1, keepdim=True) if name.startswith("int8") else x.abs().clamp_min(0.1)
    assert ((back - x).abs() <= LARGEST_ERROR[name] * size).all()
    assert (back != x).any()
    assert torch.equal(kind_of(name).rounded(torch.zeros(3, 2, 4)), torch.zeros(3, 2, 4))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("model", ["tinyllama-1.1b", "gemma-2-9b", "deepseek-v3"])
def test_bytes_are_those_of_the_whole_model(name: str, model: str) -> None:
    spec = catalogue.model(model)
    if spec.kv_groups[0].kind == "mla" and name.endswith("head"):
        pytest.skip("latents have no heads")
    from kvtui.backends.torch_pool import Shape

    shape = Shape.of(spec)
    layer = kind_of(name).bytes(shape.elements, shape.kv_heads)
    assert layer == Fraction(token_bytes(spec, name), spec.layers)


@pytest.mark.parametrize("name", ["bf16", *LARGEST_ERROR])
def test_requests_read_their_own_context(name: str) -> None:
    engine = paged(23)
    lane = on_tensors(engine, truth=token_truth(23), kv_dtype=name, verify=2)
    engine.run()
    assert lane.verifier.checked > 5
    assert lane.verifier.failed == 0, lane.verifier.first
    assert lane.verifier.tolerance == TOLERANCE[lane.pool.kind.tolerance_of]
    assert not lane.pool.kind.same


@pytest.mark.parametrize("name", ["fp8", "fp8_per_token_head", "int8_per_token_head"])
def test_a_wrong_read_is_caught_in_8_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    swapped_entries(monkeypatch)
    engine = paged(1)
    lane = on_tensors(engine, truth=token_truth(1), kv_dtype=name, layers=1, verify=4)
    engine.run()
    assert lane.verifier.failed


@pytest.mark.parametrize("name", KINDS)
def test_who_reads_what_nobody_wrote_reads_no_number(name: str) -> None:
    from kvtui.backends.torch_pool import Room, TensorPool

    pool = TensorPool(CPU, SMALL, kind_of(name), layers=1, units=3, unit=4, poison=True)
    pool.spoil(2, 3)
    room = Room(CPU, SMALL, pool.kind, 12)
    k, v = pool.gather(0, torch.arange(12), room)
    for x in (k, v):
        assert x[8:].isnan().all()
        assert not x[:8].any()


def test_lanes_of_8_bits_hold_twice_as_much_in_the_same_bytes() -> None:
    lanes = tuple(f"paged:backend=torch,kv_dtype={kind}" for kind in ("bf16", "fp8"))
    tried = on_cpu(replace(experiment(*lanes, requests=8), slots=96), verify=4)
    taken, peaks = [], []
    for lane in tried.build(watched=False):
        lane.run()
        said = lane.times.report()
        assert said["verify"]["failed"] == 0
        taken.append(said["allocated_bytes"] - 8 * said["bytes_per_token"])  # without nobody's unit
        peaks.append(lane.engine.meter.peak)
    assert taken[0] == taken[1]
    assert peaks[1] > 1.5 * peaks[0]
