"""What a device is told of each step: block tables that stay there and of which rows are changed, and one
packet of numbers about the tokens that are computed.

As in vLLM's own batch of the GPU, host memory is pinned and nobody waits for a copy out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kvtui.backends.batch import Batch
from kvtui.backends.torch_attention import OnDevice
from kvtui.backends.torch_device import Device
from kvtui.backends.torch_planes import Plane, seen_by

if TYPE_CHECKING:
    import torch

LEAST = 1024  # numbers that there is room for at first
Ints = NDArray[np.signedinteger[Any]]


class Sent:
    """The batches of one lane on its device. Tensors of a batch hold until the next one is sent."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._packet = Packet(device)
        self._tables: list[TableOnDevice] = []  # of each group of layers

    def seen(self, batch: Batch, planes: Sequence[Plane]) -> list[OnDevice]:
        """The batch on the device as each plane sees it: through its own table, or through the only one."""
        while len(self._tables) < len(batch.views):
            self._tables.append(TableOnDevice(self._device))
        tables = list(zip(self._tables, batch.views, strict=False))
        own = (batch.ids, batch.positions, batch.contexts, batch.offsets)
        changes = [part for table, view in tables for part in (view.slots, *table.changes(view.tables))]
        ids, positions, contexts, offsets, *sent = self._packet.send((*own, *changes))
        there = []
        for (table, view), slots, at, rows in zip(tables, sent[::3], sent[1::3], sent[2::3], strict=True):
            seen = table.write(at, rows)[: len(view.counts)]
            there.append(OnDevice(ids.long(), positions, slots.long(), seen, contexts, offsets, view))
        views = seen_by(planes, batch)
        return [
            on._replace(host=view) for on, view in zip(there * (len(views) // len(there)), views, strict=True)
        ]


class Packet:
    """Numbers of a step in one copy, as 32 bits. On a CPU they are read where they are put."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._pinned = device.kind == "cuda"
        self._read: Any = None  # the event behind the last copy out of host memory
        self._make_room(LEAST)

    def send(self, parts: Sequence[Ints]) -> list[torch.Tensor]:
        """The arrays as tensors, until the next are sent."""
        ends = np.cumsum([part.size for part in parts]).tolist()
        self._wait()
        if ends[-1] > self._host.numel():
            self._make_room(max(ends[-1], 2 * self._host.numel()))
        numbers = self._host.numpy()
        starts = [0, *ends[:-1]]
        for part, start, end in zip(parts, starts, ends, strict=True):
            numbers[start:end].reshape(part.shape)[...] = part
        if self._there is not self._host:
            self._there[: ends[-1]].copy_(self._host[: ends[-1]], non_blocking=self._pinned)
            self._note()
        cut = zip(parts, starts, ends, strict=True)
        return [self._there[start:end].view(part.shape) for part, start, end in cut]

    def _make_room(self, numbers: int) -> None:
        import torch

        with torch.inference_mode(mode=False):
            self._host = torch.empty(numbers, dtype=torch.int32, pin_memory=self._pinned)
            self._there = self._host
            if not self._device.on_cpu:
                self._there = torch.empty(numbers, dtype=torch.int32, device=self._device.device)

    def _note(self) -> None:
        if self._pinned:
            self._read = self._device.api.Event()
            self._read.record()

    def _wait(self) -> None:
        """Until the numbers in host memory were read."""
        if self._read is not None:
            self._read.synchronize()
            self._read = None


class TableOnDevice:
    """A block table that stays on the device, with what it holds known here."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._make_room(1, 1)

    def changes(self, tables: NDArray[np.int32]) -> tuple[Ints, NDArray[np.int32]]:
        """Rows that differ from what the device has, and what they shall be. Needs `write` of them."""
        rows, columns = tables.shape
        before = self._held.shape
        if rows > before[0] or columns > before[1]:
            self._make_room(
                *(m if n <= m else max(n, 2 * m) for n, m in zip(tables.shape, before, strict=True))
            )
        held = self._held[:rows, :columns]
        at = np.flatnonzero((held != tables).any(1))
        changed = tables[at]
        held[at] = changed
        return at, changed

    def write(self, at: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Take in rows [n, columns] at `at` [n]; gives the whole table."""
        if len(at):
            self._there[:, : rows.shape[1]].index_copy_(0, at.long(), rows)
        return self._there

    def _make_room(self, rows: int, columns: int) -> None:
        """Nothing is known of a new table but that it is zero."""
        import torch

        with torch.inference_mode(mode=False):
            self._there = torch.zeros(rows, columns, dtype=torch.int32, device=self._device.device)
        self._held = np.zeros((rows, columns), np.int32)
