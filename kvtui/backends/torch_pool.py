"""KV memory as tensors: K and V apart, one unit (block, or piece of a region) after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from kvtui.backends.torch_clock import Stopwatch
from kvtui.backends.torch_device import Device
from kvtui.backends.torch_host import HostPool
from kvtui.backends.torch_kvtypes import Encoded, KvType
from kvtui.errors import BackendUnavailable, ConfigError
from kvtui.hardware.catalogue import KvGroup, ModelSpec
from kvtui.memory.ops import Op, OpKind

if TYPE_CHECKING:
    import torch

COPY, SWAP, POISON = "copy", "swap", "poison"  # parts of a step
PARTS = {OpKind.COPY: COPY, OpKind.OUT: SWAP, OpKind.IN: SWAP, OpKind.TAKE: POISON, OpKind.FREE: POISON}


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
        for group in model.kv_groups:
            if group.kind != "linear":
                return cls.of_group(group, model.heads // tp, tp=tp)
        raise BackendUnavailable(f"{model.label} keeps no K/V: there is nothing to put into tensors")

    @classmethod
    def of_group(cls, group: KvGroup, heads: int, *, tp: int = 1) -> Shape:
        """Of the layers of one group, with so many query heads on a GPU."""
        if group.kind == "mla":
            rank = group.kv_lora_rank
            return cls(heads, 1, rank + group.qk_rope_head_dim, rank, latent=True)
        kv_heads = max(1, group.kv_heads // tp)
        if max(heads, kv_heads) % kv_heads:
            raise ConfigError(
                f"{heads} query heads cannot share {kv_heads} heads of K/V evenly",
                hint="take a number of GPUs that divides the K/V heads" if tp > 1 else None,
            )
        return cls(max(heads, kv_heads), kv_heads, group.head_dim, group.head_dim)

    @property
    def elements(self) -> int:
        """Numbers that a layer stores for a token."""
        return self.kv_heads * (self.key_dim + (0 if self.latent else self.value_dim))


class Room:
    """Buffers for the K/V of up to `tokens` tokens that stand in a pool anywhere: `k` and `v` as attention
    takes them, and where they are stored otherwise, room for that as well."""

    def __init__(self, device: Device, shape: Shape, kind: KvType, tokens: int) -> None:
        import torch

        def empty(dim: int, dtype: torch.dtype) -> torch.Tensor:
            return torch.empty(tokens, shape.kv_heads, dim, dtype=dtype, device=device.device)

        self.tokens = tokens
        self.k = empty(shape.key_dim, kind.plain)
        self.v = self.k[..., : shape.value_dim] if shape.latent else empty(shape.value_dim, kind.plain)
        self._owned = [self.k] if shape.latent else [self.k, self.v]
        self.raw = [] if kind.same else [empty(x.shape[-1], kind.stored) for x in self._owned]

    @property
    def bytes(self) -> int:
        """What the buffers take."""
        return sum(x.numel() * x.element_size() for x in (*self._owned, *self.raw))


class TensorPool:
    """K and V of `layers` layers for `units` units of `unit` tokens. Unit 0 belongs to nobody and stays zero:
    it is read where a short context is filled up.

    With `poison`, units are filled with NaN when they are handed out or given back: whoever reads what was
    not written reads no number.
    """

    def __init__(
        self,
        device: Device,
        shape: Shape,
        kind: KvType,
        *,
        layers: int,
        units: int,
        unit: int,
        poison: bool = False,
    ) -> None:
        import torch

        self.unit = unit
        self.layers = layers
        self.poison = poison
        self.kind = kind
        self.shape = shape
        self._device = device
        size = (layers, units + 1, unit, shape.kv_heads)

        def zeros(*size: int, dtype: torch.dtype) -> torch.Tensor:
            return torch.zeros(*size, dtype=dtype, device=device.device)

        self.k = zeros(*size, shape.key_dim, dtype=kind.stored)
        if shape.latent:
            self.v = self.k[..., : shape.value_dim]
        else:
            self.v = zeros(*size, shape.value_dim, dtype=kind.stored)
        self._owned = [self.k] if shape.latent else [self.k, self.v]
        self._scales = [zeros(*size, dtype=torch.float32) for _ in self._owned] if kind.scaled else []
        self._all = [*self._owned, *self._scales]
        self.host = HostPool(device, self._all)

    @property
    def units(self) -> int:
        """That which belongs to nobody included."""
        return int(self.k.shape[1])

    @property
    def bytes(self) -> int:
        """What the tensors take: elements times their size, the unit that belongs to nobody included."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self._all)

    # ---- as a manager says

    def prepare(self, ops: Sequence[Op]) -> None:
        """See that there is room for all that goes to main memory."""
        host = {OpKind.OUT: 1, OpKind.IN: 0}  # which of the two blocks is there
        self.host.make_room(max((op.blocks[host[op.kind]] for op in ops if op.kind in host), default=0))

    def replay(self, ops: Sequence[Op], *, base: int, watch: Stopwatch | None = None) -> None:
        """Do what a manager did, in order; its ids count from 1 - `base`. Needs `prepare`."""
        todo = [op for op in ops if op.kind in PARTS and (self.poison or PARTS[op.kind] != POISON)]
        for part, run in groupby(todo, key=lambda op: PARTS[op.kind]):
            for kind, _, blocks in run:
                self._do(kind, [block + base for block in blocks], base)
            if watch is not None:
                watch.mark(part)

    def _do(self, kind: OpKind, units: list[int], base: int) -> None:
        import torch

        if kind is OpKind.COPY:
            source, target = units
            for tensor in self._all:
                tensor[:, target] = tensor[:, source]
        elif kind is OpKind.OUT:
            self.host.take(units[0], units[1] - base)
        elif kind is OpKind.IN:
            self.host.bring(units[0] - base, units[1])
        else:
            at = torch.tensor(units, device=self._device.device)
            for tensor in self._all:
                self.kind.poison(tensor, at)

    def wipe(self, first: int, end: int) -> None:
        """Let units [first, end) be as they were at the start."""
        for tensor in self._all:
            tensor[:, first:end].zero_()

    def spoil(self, first: int, end: int, value: float | None = None) -> None:
        """Let units [first, end) hold `value`, or no numbers."""
        import torch

        at = torch.arange(first, end, device=self._device.device)
        for tensor in self._all:
            if value is None:
                self.kind.poison(tensor, at)
            else:
                tensor[:, first:end].fill_(value)

    # ---- as attention says

    def write(self, layer: int, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
        """Store the K/V [T, heads, dim] of T tokens in slots [T]."""
        for at, x in enumerate((k, v)[: len(self._owned)]):
            encoded = self.kind.encode(x)
            self._owned[at][layer].flatten(0, 1).index_copy_(0, slots, encoded.data)
            if encoded.scales is not None:
                self._scales[at][layer].flatten(0, 1).index_copy_(0, slots, encoded.scales)

    def gather(self, layer: int, slots: torch.Tensor, room: Room) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V [T, heads, dim] of slots [T], in `room`."""
        n = len(slots)
        for at, out in enumerate((room.k, room.v)[: len(self._owned)]):
            if self.kind.same:
                self._select(self._owned[at], layer, slots, out[:n])
            else:
                self.kind.decode(*self._stored(at, layer, slots, room), out[:n])
        return room.k[:n], room.v[:n]

    def _stored(self, at: int, layer: int, slots: torch.Tensor, room: Room) -> Encoded:
        data = self._select(self._owned[at], layer, slots, room.raw[at][: len(slots)])
        if not self.kind.scaled:
            return Encoded(data, None)
        return Encoded(data, self._scales[at][layer].flatten(0, 1).index_select(0, slots))

    def _select(self, pool: torch.Tensor, layer: int, slots: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.index_select(pool[layer].flatten(0, 1), 0, slots, out=out)
