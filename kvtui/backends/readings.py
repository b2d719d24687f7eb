"""Where the memory of a device is, and what the device says of itself, looked at a few times a second."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Final

from kvtui.backends.nvml import Nvml, Reading
from kvtui.backends.torch_device import Device

EVERY_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of the device in four parts that are told apart, as far as they are known.

    A pool is taken whole, full or empty: the driver's figures stand still while a manager fills it.
    """

    pool: int  # tensors of K/V, exactly
    reserved: int | None  # by torch beyond these
    others: int | None  # other processes, and what the driver keeps
    free: int | None


class Readings:
    """The newest look at one device. `refresh` may take milliseconds: it is for those who carry steps out.

    `pool_bytes` is what kvtui's own K/V takes there.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._nvml = _nvml_of(device)
        self._due = 0.0
        self.pool_bytes = 0
        self.driver = Reading()
        self.lost = False  # whether a driver that answered does so no more
        self.memory = Memory(0, None, None, None)

    def refresh(self, *, now: bool = False) -> None:
        """Look again, unless that was done within half a second."""
        time_s = time.monotonic()
        if now or time_s >= self._due:
            self._due = time_s + EVERY_S
            if self._nvml is not None:
                before, self.driver = self.driver, self._nvml.read()
                self.lost = self.driver == Reading() and (self.lost or before != Reading())
            self.memory = self._memory()

    def _memory(self) -> Memory:
        try:
            reserved, (total, free) = self._device.reserved_bytes(), self._total_and_free()
        except RuntimeError:  # the device has failed, or its driver has gone
            return Memory(self.pool_bytes, None, None, None)
        if reserved is None:
            return Memory(self.pool_bytes, None, None, free)
        beyond = max(reserved - self.pool_bytes, 0)
        others = None if total is None or free is None else max(total - free - reserved, 0)
        return Memory(self.pool_bytes, beyond, others, free)

    def _total_and_free(self) -> tuple[int | None, int | None]:
        if self.driver.total_bytes is not None:
            return self.driver.total_bytes, self.driver.free_bytes
        return self._device.total_bytes(), self._device.free_bytes()

    def report(self) -> dict[str, Any]:
        """All of it as data, as it is now."""
        self.refresh(now=True)
        memory = {f"{name}_bytes": value for name, value in asdict(self.memory).items()}
        return {
            "memory": memory | {"process_bytes": process_bytes()},
            "driver": asdict(self.driver),
            "driver_lost": self.lost,
        }


def process_bytes() -> int:
    """The most main memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10  # Linux counts in KiB


def _nvml_of(device: Device) -> Nvml | None:
    """The driver's view of a CUDA device; None where there is none, or nobody to ask."""
    import torch

    if device.kind != "cuda" or torch.version.hip:
        return None
    uuid = getattr(torch.cuda.get_device_properties(device.device), "uuid", None)
    try:
        return Nvml(device.device.index if uuid is None else f"GPU-{uuid}")
    except (ImportError, OSError):
        return None
