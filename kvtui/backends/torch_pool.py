"""KV memory as tensors: K and V apart, one unit (block, or piece of a region) after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtui.backends.torch_device import Device
from kvtui.errors import BackendUnavailable
from kvtui.hardware.catalogue import ModelSpec
from kvtui.memory.ops import Op, OpKind

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Shape:
    """Attention of one layer on one GPU."""

    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    latent: bool = False  # MLA: the value is the first part of the one latent that is stored

    @classmethod
    def of(cls, model: ModelSpec, *, tp: int = 1) -> Shape:
        """Of the first kind of layer of the model that keeps K/V of every token."""
        heads = model.heads // tp
        for group in model.kv_groups:
            if group.kind == "mla":
                rank = group.kv_lora_rank
                return cls(heads, 1, rank + group.qk_rope_head_dim, rank, latent=True)
            if group.kind != "linear":
                kv_heads = max(1, group.kv_heads // tp)
                return cls(max(heads, kv_heads), kv_heads, group.head_dim, group.head_dim)
        raise BackendUnavailable(f"{model.label} keeps no K/V: there is nothing to put into tensors")

    @property
    def elements(self) -> int:
        """Numbers that a layer stores for a token."""
        return self.kv_heads * (self.key_dim + (0 if self.latent else self.value_dim))


class TensorPool:
    """K and V of `layers` layers for `units` units of `unit` tokens. Unit 0 belongs to nobody and stays zero:
    it is read where a short context is filled up.

    With `poison`, units are filled with NaN when they are handed out or given back: whoever reads what was
    not written reads no number.
    """

    def __init__(
        self, device: Device, shape: Shape, *, layers: int, units: int, unit: int, poison: bool = False
    ) -> None:
        import torch

        self.unit = unit
        self.layers = layers
        self.poison = poison
        size = (layers, units + 1, unit, shape.kv_heads)
        self.k: torch.Tensor = torch.zeros(*size, shape.key_dim, dtype=device.dtype, device=device.device)
        if shape.latent:
            self.v: torch.Tensor = self.k[..., : shape.value_dim]
        else:
            self.v = torch.zeros(*size, shape.value_dim, dtype=device.dtype, device=device.device)
        self._owned = [self.k] if shape.latent else [self.k, self.v]

    @property
    def bytes(self) -> int:
        """What the tensors take: elements times their size, the unit that belongs to nobody included."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self._owned)

    def replay(self, ops: Iterable[Op], *, base: int) -> int:
        """Do what a manager did, in order; its ids count from 1 - `base`. Gives the units copied."""
        import torch

        copied = 0
        for kind, _, blocks in ops:
            if kind is OpKind.COPY:
                source, target = (block + base for block in blocks)
                for tensor in self._owned:
                    tensor[:, target] = tensor[:, source]
                copied += 1
            elif self.poison and kind in (OpKind.TAKE, OpKind.FREE):
                at = self.k.new_tensor([block + base for block in blocks], dtype=torch.int64)
                for tensor in self._owned:
                    tensor.index_fill_(1, at, float("nan"))
        return copied

    def write(self, layer: int, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        """Store the K/V [T, heads, dim] of T tokens in slots [T]."""
        self.k[layer].flatten(0, 1).index_copy_(0, slots, k)
        if len(self._owned) > 1:
            self.v[layer].flatten(0, 1).index_copy_(0, slots, v)
