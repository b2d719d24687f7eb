"""Devices that are not there, that fail, or that do not say much."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from kvtui.backends.nvml import Nvml, Reading
from kvtui.errors import BackendUnavailable


class NVMLError(Exception):
    pass


class FakeNvml(SimpleNamespace):
    """A driver with one GPU; names in `missing` are not supported, and `gone` answers nothing at all."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM, NVML_CLOCK_MEM = 0, 1, 2
    ANSWERS: ClassVar = {
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 << 30, free=50 << 30, used=30 << 30),
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
        "nvmlDeviceGetPowerUsage": 312_500,
        "nvmlDeviceGetEnforcedPowerLimit": 700_000,
        "nvmlDeviceGetTemperature": 61,
        "nvmlDeviceGetClockInfo": 1_980,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x1 | 0x4 | 0x40,
    }

    def __init__(self, **state: Any) -> None:
        super().__init__(**({"missing": (), "gone": False, "driver": True, "joules": [1234.5]} | state))

    def nvmlInit(self) -> None:
        if not self.driver:
            raise NVMLError("NVML Shared Library Not Found")

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if not uuid.startswith("GPU-"):
            raise NVMLError("Not Found")
        return uuid

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: object) -> int:
        if self.gone or "nvmlDeviceGetTotalEnergyConsumption" in self.missing:
            raise NVMLError("Not Supported")
        return int(1000 * self.joules[0])

    def __getattr__(self, name: str) -> Any:
        if name not in self.ANSWERS:
            raise AttributeError(name)

        def answer(handle: object, *args: object) -> Any:
            if self.gone or name in self.missing:
                raise NVMLError("GPU is lost" if self.gone else "Not Supported")
            return self.ANSWERS[name]

        return answer


def driver(monkeypatch: pytest.MonkeyPatch, **state: Any) -> FakeNvml:
    fake = FakeNvml(**state)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_a_driver_that_says_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    driver(monkeypatch)
    assert Nvml("GPU-1").read() == Reading(
        total_bytes=80 << 30,
        free_bytes=50 << 30,
        gpu_pct=97,
        memory_pct=40,
        power_w=312.5,
        power_limit_w=700.0,
        energy_j=1234.5,
        temperature_c=61,
        sm_clock_mhz=1980,
        memory_clock_mhz=1980,
        held_back=("power limit", "temperature (hardware)"),
    )


def test_what_is_not_supported_is_unknown_and_the_rest_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetTotalEnergyConsumption")
    driver(monkeypatch, missing=missing)
    reading = Nvml(0).read()
    assert (reading.gpu_pct, reading.memory_pct, reading.energy_j) == (None, None, None)
    assert reading.power_w == 312.5


def test_a_driver_that_goes_away_leaves_nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = driver(monkeypatch)
    gpu = Nvml(0)
    assert gpu.read().temperature_c == 61
    fake.gone = True
    assert gpu.read() == Reading()


@pytest.mark.parametrize("gpu", [0, "MIG-7"])
def test_no_driver_or_no_such_gpu_is_an_os_error(gpu: str | int, monkeypatch: pytest.MonkeyPatch) -> None:
    driver(monkeypatch, driver=gpu != 0)
    with pytest.raises(OSError, match="Not Found"):
        Nvml(gpu)


def test_without_torch_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends import torch_device

    monkeypatch.setattr(torch_device, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match="not installed") as error:
        torch_device.Device()
    assert "pip install" in str(error.value.hint)


class TestWithTorch:
    pytestmark = pytest.mark.torch

    @pytest.fixture(autouse=True)
    def torch(self) -> Any:
        return pytest.importorskip("torch")

    @pytest.mark.parametrize(
        ("name", "words"),
        [("cuda", "without CUDA|no cuda device"), ("mps", "no Mac|no mps"), ("tpu", "no device 'tpu'")],
    )
    def test_a_device_that_is_not_there(self, name: str, words: str, torch: Any) -> None:
        from kvtui.backends.torch_device import Device

        if name == "cuda" and torch.cuda.is_available():
            pytest.skip("there is one")
        with pytest.raises(BackendUnavailable, match=words) as error:
            Device(name)
        assert "cpu" in str(error.value.hint)

    def test_automatic_is_the_cpu_where_there_is_nothing_else(self, torch: Any) -> None:
        from kvtui.backends.torch_device import CPU_BYTES, Device

        if torch.accelerator.is_available():
            pytest.skip("there is something else")
        device = Device("auto")
        assert (device.on_cpu, device.label) == (True, "CPU")
        assert 0 < device.allowance() <= CPU_BYTES
        assert device.allowance(0.5) == pytest.approx(device.free_bytes() / 2, rel=0.2)

    def test_where_the_memory_is(self, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a GPU the four parts add up to all of it; here a CPU is dressed as one."""
        from kvtui.backends import readings
        from kvtui.backends.torch_device import Device

        driver(monkeypatch)
        device = Device("cpu")
        plain = readings.Readings(device)
        plain.pool_bytes = 5
        plain.refresh()
        assert (plain.memory.pool, plain.memory.others) == (5, None)
        monkeypatch.setattr(Device, "reserved_bytes", lambda self: 12 << 30)
        plain.refresh(now=True)  # as on a Mac, which does not say how much there is in all
        assert (plain.memory.reserved, plain.memory.others) == ((12 << 30) - 5, None)
        monkeypatch.setattr(readings, "_nvml_of", lambda device: Nvml(0))
        looking = readings.Readings(device)
        looking.pool_bytes = 10 << 30
        report = looking.report()
        assert looking.memory == readings.Memory(10 << 30, 2 << 30, 18 << 30, 50 << 30)
        assert report["memory"]["others_bytes"] == 18 << 30
        assert report["driver"]["power_w"] == 312.5

    def test_a_driver_that_has_gone_is_told_from_one_that_never_was(
        self, torch: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from kvtui.backends import readings
        from kvtui.backends.torch_device import Device

        fake = driver(monkeypatch)
        never = readings.Readings(Device("cpu"))
        assert not never.report()["driver_lost"]
        monkeypatch.setattr(readings, "_nvml_of", lambda device: Nvml(0))
        looking = readings.Readings(Device("cpu"))
        said = []
        for fake.gone in (False, True, True, False):
            said.append(looking.report()["driver_lost"])
        assert said == [False, True, True, False]

    def test_energy_of_a_token_is_what_the_device_used_from_first_to_last_step(
        self, torch: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not what lanes that come after it used."""
        one, other = self.lanes(monkeypatch)
        joules = self.joules
        one.step()
        joules[0] += 10
        one.run()
        joules[0] += 1000  # between the two
        other.step()
        joules[0] += 30
        other.run()
        joules[0] += 1000
        tokens = one.engine.output_tokens
        said = [lane.times.report()["energy_j_per_token"] for lane in (one, other)]
        assert said == pytest.approx([10 / tokens, 30 / tokens], abs=1e-6)

    def test_energy_of_lanes_that_take_turns_is_nobodys(
        self, torch: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, other = self.lanes(monkeypatch)
        for _ in range(3):
            one.step()
            other.step()
            self.joules[0] += 10
        one.run()
        other.run()
        assert [lane.times.report()["energy_j_per_token"] for lane in (one, other)] == [None, None]

    def lanes(self, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """Two on a device that has used `joules`."""
        from kvtui.backends import readings
        from tests.backends.runs import experiment, on_cpu

        self.joules = [1234.5]
        driver(monkeypatch, joules=self.joules)
        monkeypatch.setattr(readings, "_nvml_of", lambda device: Nvml(0))
        names = ("paged:backend=torch,name=a", "paged:backend=torch,name=b")
        return list(on_cpu(experiment(*names, requests=2), verify=0).build(watched=False))
