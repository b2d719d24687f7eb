"""What an NVIDIA driver says about a GPU. Everything may be unknown: it is None, and never stops a run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

# Bits of nvmlClocksEventReason*, in words; an idle GPU and one at the clocks asked for are not held back.
REASONS = {
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "temperature (driver)",
    0x40: "temperature (hardware)",
    0x80: "power brake",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at a GPU. Memory and utilisation are those of the whole device, whoever uses it."""

    total_bytes: int | None = None
    free_bytes: int | None = None
    gpu_pct: int | None = None  # of the time in which any kernel ran
    memory_pct: int | None = None  # of the time in which memory was read or written; not how full it is
    power_w: float | None = None
    power_limit_w: float | None = None
    energy_j: float | None = None  # since the driver was loaded
    temperature_c: int | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    held_back: tuple[str, ...] | None = None  # why clocks are lower than they could be


class Nvml:
    """One GPU, by its UUID as the driver writes it ("GPU-...") or its number."""

    def __init__(self, gpu: str | int) -> None:
        """Raises ImportError where nvidia-ml-py is not installed, OSError where no driver answers."""
        self._nvml: Any = import_module("pynvml")
        try:
            self._nvml.nvmlInit()
            by = self._nvml.nvmlDeviceGetHandleByUUID if isinstance(gpu, str) else None
            self._handle = (by or self._nvml.nvmlDeviceGetHandleByIndex)(gpu)
        except self._nvml.NVMLError as error:
            raise OSError(str(error)) from error

    def read(self) -> Reading:
        """All that the device says now."""
        nvml = self._nvml
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        used = self._ask("nvmlDeviceGetUtilizationRates")
        energy = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return Reading(
            total_bytes=None if memory is None else int(memory.total),
            free_bytes=None if memory is None else int(memory.free),
            gpu_pct=None if used is None else int(used.gpu),
            memory_pct=None if used is None else int(used.memory),
            power_w=_thousandth(self._ask("nvmlDeviceGetPowerUsage")),
            power_limit_w=_thousandth(self._ask("nvmlDeviceGetEnforcedPowerLimit")),
            energy_j=_thousandth(energy),
            temperature_c=self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            sm_clock_mhz=self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            held_back=_reasons(self._ask("nvmlDeviceGetCurrentClocksEventReasons")),
        )

    def _ask(self, name: str, *args: Any) -> Any:
        """An answer, or None: not supported here, too old a library, or the driver is gone."""
        try:
            return getattr(self._nvml, name)(self._handle, *args)
        except (self._nvml.NVMLError, AttributeError):
            return None


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1000


def _reasons(bits: int | None) -> tuple[str, ...] | None:
    return None if bits is None else tuple(words for bit, words in REASONS.items() if bits & bit)
