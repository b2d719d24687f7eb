"""Where the time of a step goes: device events between the parts, read after one synchronisation."""

from __future__ import annotations

import time
from typing import Any

from kvtui.backends.torch_device import Device


class Stopwatch:
    """Marks the end of each part of a step; on a GPU the marks are events in its stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._names: list[str] = []
        self._marks: list[Any] = [self._now()]

    def mark(self, name: str) -> None:
        """What was done since the last mark was `name`."""
        self._names.append(name)
        self._marks.append(self._now())

    def parts(self) -> dict[str, float]:
        """Seconds by name. Waits for the device."""
        self._device.synchronize()
        seconds: dict[str, float] = {}
        for name, start, end in zip(self._names, self._marks, self._marks[1:], strict=False):
            seconds[name] = seconds.get(name, 0.0) + self._between(start, end)
        return seconds

    def _now(self) -> Any:
        if self._device.on_cpu:
            return time.perf_counter()
        event = self._device.api.Event(enable_timing=True)
        event.record()
        return event

    def _between(self, start: Any, end: Any) -> float:
        if self._device.on_cpu:
            return float(end - start)
        return float(start.elapsed_time(end)) / 1000  # events count milliseconds
