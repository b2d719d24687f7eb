"""A CPU dressed as an NVIDIA GPU: lines that only a GPU goes through are gone through, with tensors on the
CPU. What a real one does differently is for tests/gpu."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kvtui.backends.ghost import Stories
from tests.backends.runs import experiment
from tests.backends.tensors import CPU, on_tensors, torch
from tests.backends.test_device import driver
from tests.sharing.worlds import world

pytestmark = pytest.mark.torch

GIB = 1 << 30


class Event:
    """As torch's, of a device that has no queue."""

    def __init__(self, *, enable_timing: bool = False) -> None:
        self._timing = enable_timing

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        assert self.at

    def elapsed_time(self, other: Event) -> float:
        assert self._timing
        return 1000 * (other.at - self.at)


class Pinned:
    """Counts what was asked for as pinned memory."""

    def __init__(self) -> None:
        self.tensors = 0
        self.waited_for: list[Any] = []  # devices
        self.current: list[Any] = []
        self._empty = torch.empty

    def empty(self, *size: Any, pin_memory: bool = False, **options: Any) -> Any:
        self.tensors += pin_memory
        return self._empty(*size, **options)

    def pin_memory(self, tensor: Any) -> Any:
        self.tensors += 1
        return tensor.clone()


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pinned]:
    from kvtui.backends.torch_device import Device

    memory = Pinned()
    answers = {
        "Event": Event,
        "set_device": memory.current.append,
        "synchronize": memory.waited_for.append,
        "empty_cache": lambda: None,
        "mem_get_info": lambda device: (3 * GIB, 80 * GIB),
        "memory_reserved": lambda device: 2 * GIB,
        "set_per_process_memory_fraction": lambda part, device: None,
        "get_device_name": lambda device: "NVIDIA Dressed",
        "is_bf16_supported": lambda including_emulation: not including_emulation,
        "get_device_properties": lambda device: SimpleNamespace(uuid="1-2"),
    }
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    monkeypatch.setattr(Device, "kind", property(lambda self: "cuda"))
    driver(monkeypatch)
    monkeypatch.setattr(torch, "empty", memory.empty)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: memory.pin_memory(tensor))
    allowed = torch.backends.cuda.cudnn_sdp_enabled()
    yield memory
    torch.backends.cuda.enable_cudnn_sdp(allowed)


def test_attention_never_waits_for_plans_of_cudnn(pinned: Pinned) -> None:
    torch.backends.cuda.enable_cudnn_sdp(True)
    CPU.settle()
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_whatever_is_waited_for_is_the_device_itself(pinned: Pinned) -> None:
    """Not the one that happens to be current in a thread."""
    CPU.copied_bytes_per_s()
    assert set(pinned.waited_for) == {CPU.device}


def test_blocks_go_to_pinned_memory_and_come_back(pinned: Pinned) -> None:
    engine = world(11)
    lane = on_tensors(engine, truth=Stories(engine.manager.block_size), layers=1, verify=12)
    assert pinned.tensors == 1  # what each step tells the device is written to
    engine.run()
    assert lane.pool.host.bytes > 0
    assert 1 + 2 <= pinned.tensors < engine.scheduler.step / 2  # K and V in main memory, and where these grow
    assert lane.pool.k.dtype == torch.bfloat16
    assert lane.verifier.checked > 30
    assert lane.verifier.failed == 0
    assert min(lane.parts.values()) > 0
    assert set(lane.parts) >= {"swap", "copy", "attention"}


def test_a_whole_run_with_what_the_driver_says(pinned: Pinned, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of what is free is taken at most, and the four parts of the memory are all of it."""
    from kvtui.backends import torch_kernels
    from kvtui.backends.torch_backend import GPU_LAYERS, Settings, TorchBackend

    monkeypatch.setattr(torch_kernels, "KERNELS", ())
    tried = experiment("paged:backend=torch", requests=2)
    assert TorchBackend(tried.model, Settings(device="cpu")).layers == GPU_LAYERS
    backend = TorchBackend(tried.model, Settings(device="cpu", verify=8, kv_layers=1))
    assert backend.device.allowance() == 3 * GIB // 4
    for lane in backend.fit(tried, asked=True).build(watched=False):
        lane.run()
        said = lane.times.report()
        assert said["device_name"] == "NVIDIA Dressed"
        assert said["verify"]["failed"] == 0
        assert said["driver"]["power_w"] == 312.5
        memory = said["memory"]
        parts = (memory[f"{name}_bytes"] for name in ("pool", "reserved", "others", "free"))
        assert sum(parts) == said["driver"]["total_bytes"]


def test_a_kernel_that_is_not_taken_leaves_torch_as_it_was(
    pinned: Pinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which FlashAttention torch uses is decided for all that calls it."""
    from torch.nn import attention

    from kvtui.backends import torch_kernels

    class Unfit:
        name = "unfit"

        def __init__(self, lane: Any) -> None:
            torch_kernels._switch_on_newer()
            assert active == ["FA4"]
            raise RuntimeError("not on this device")

    active: list[str] = []
    fakes = {
        "activate_flash_attention_impl": active.append,
        "current_flash_attention_impl": lambda: active[-1] if active else None,
        "restore_flash_attention_impl": active.clear,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(attention, name, fake, raising=False)
    monkeypatch.setattr(torch_kernels, "KERNELS", (Unfit,))
    verdicts = dict(torch_kernels.probed(on_tensors(world(11))))
    assert verdicts == {"unfit": "not on this device"}
    assert not active


def test_torch_may_take_no_more_than_the_share(pinned: Pinned, monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_backend import Settings, TorchBackend

    caps: list[Any] = []
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda *cap: caps.append(cap))
    tried = experiment("paged:backend=torch", requests=2)
    TorchBackend(tried.model, Settings(device="cpu", kv_layers=1)).fit(tried, asked=True)
    assert caps == [(pytest.approx((3 / 4 + 2) / 80), CPU.device)]
