"""Blocks in main memory: where K/V goes that is swapped out, and comes back from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtui.backends.torch_device import Device

if TYPE_CHECKING:
    import torch

FIRST = 64  # blocks that there is room for at first


class HostPool:
    """Blocks of the tensors [layers, units, ...] of a device, pinned where the device copies quicker so.

    There is room for as many blocks as were ever there at once: it doubles when it is full, never in the
    middle of a step that is timed. Host blocks count from 1, see `ForkingMemoryManager`.
    """

    def __init__(self, device: Device, tensors: Sequence[torch.Tensor]) -> None:
        self._device = device
        self._tensors = tensors
        self._held: list[torch.Tensor] = []  # of each tensor: [host blocks, layers, ...]
        self.room = 0  # blocks

    @property
    def bytes(self) -> int:
        """What the blocks take in main memory."""
        return sum(held.numel() * held.element_size() for held in self._held)

    def make_room(self, block: int) -> None:
        """Let host block `block` exist."""
        if block <= self.room:
            return
        self._device.synchronize()  # what is under way comes from or goes to the old blocks
        room = max(FIRST, self.room)
        while room < block:
            room *= 2
        larger = [self._blocks(tensor, room) for tensor in self._tensors]
        for old, new in zip(self._held, larger, strict=False):
            new[: len(old)] = old
        self._held, self.room = larger, room

    def take(self, unit: int, block: int) -> None:
        """Copy a unit of the device to a host block."""
        for tensor, held in zip(self._tensors, self._held, strict=True):
            held[block - 1].copy_(tensor[:, unit], non_blocking=True)

    def bring(self, block: int, unit: int) -> None:
        """Copy a host block to a unit of the device."""
        for tensor, held in zip(self._tensors, self._held, strict=True):
            tensor[:, unit].copy_(held[block - 1], non_blocking=True)

    def _blocks(self, tensor: torch.Tensor, room: int) -> torch.Tensor:
        import torch

        layers, _, *rest = tensor.shape
        pinned = self._device.kind == "cuda"
        return torch.empty(room, layers, *rest, dtype=tensor.dtype, pin_memory=pinned)
