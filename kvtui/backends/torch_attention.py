"""Attention through block tables with nothing but torch: gather the K/V, then scaled dot-product attention.

Works on any device with any block size. A kernel that reads through the table itself (torch_kernels.py) saves
the copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvtui.backends.torch_device import Device
from kvtui.backends.torch_pool import Shape, TensorPool

if TYPE_CHECKING:
    import torch

    from kvtui.backends.batch import Batch


Rows = NDArray[np.int64]


class OnDevice(NamedTuple):
    """A batch as tensors: R requests, T tokens, M table entries."""

    ids: torch.Tensor  # [T]
    positions: torch.Tensor  # [T]
    slots: torch.Tensor  # [T]
    tables: torch.Tensor  # [R, M] int32
    contexts: torch.Tensor  # [R] int32
    offsets: torch.Tensor  # [R + 1] int32
    host: Batch


class Attention(Protocol):
    """A way to read K/V through block tables. `prepare` once a step, then `attend` for every layer."""

    name: str

    def prepare(self, batch: OnDevice) -> None:
        """What all layers of a step have in common."""
        ...

    def attend(self, layer: int, q: torch.Tensor) -> torch.Tensor:
        """What the queries [T, heads, dim] read: [T, heads, dim]; each sees its request up to itself."""
        ...


class _Group(NamedTuple):
    """Queries that are done in one call: `width` tokens of each of its requests."""

    tokens: torch.Tensor  # [requests * width] places in the batch
    slots: torch.Tensor  # [requests * longest] slots to gather, that of nobody where a context is shorter
    mask: torch.Tensor | None  # [requests, 1, width or 1, longest] what may be seen; None = everything
    width: int
    longest: int


class GatherAttention:
    """Copies the K/V of a few requests at a time into buffers of `room` tokens, and attends there.

    Decodes of like context go together; a prompt's chunk goes alone.
    """

    name = "gather + SDPA"

    def __init__(self, device: Device, pool: TensorPool, shape: Shape, *, room: int) -> None:
        import torch

        self._device = device.device
        self._pool = pool
        self._shape = shape
        self.room = room
        size = (room, shape.kv_heads)
        self._k = torch.empty(*size, shape.key_dim, dtype=device.dtype, device=self._device)
        self._v = (
            self._k[..., : shape.value_dim]
            if shape.latent
            else torch.empty(*size, shape.value_dim, dtype=device.dtype, device=self._device)
        )
        self._groups: list[_Group] = []

    @property
    def bytes(self) -> int:
        """What the buffers take."""
        return int(self.room * self._shape.elements * self._k.element_size())

    def prepare(self, batch: OnDevice) -> None:
        counts, contexts = batch.host.counts, batch.host.contexts
        decodes = np.flatnonzero(counts == 1)
        decodes = decodes[np.argsort(-contexts[decodes], kind="stable")]
        self._groups = [self._decodes(batch, rows) for rows in _alike(decodes, contexts, self.room)]
        self._groups += [self._chunk(batch, int(row)) for row in np.flatnonzero(counts > 1)]

    def attend(self, layer: int, q: torch.Tensor) -> torch.Tensor:
        out = q.new_empty(len(q), self._shape.heads, self._shape.value_dim)
        for group in self._groups:
            k, v = self._gather(layer, group.slots)
            k, v = (x.unflatten(0, (-1, group.longest)).transpose(1, 2) for x in (k, v))
            asked = q[group.tokens]
            out[group.tokens] = (
                self._chunked(group, asked, k, v) if group.width > 1 else self._decoded(group, asked, k, v)
            )
        return out

    def _gather(self, layer: int, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        from torch import index_select as select

        n = len(slots)
        k = select(self._pool.k[layer].flatten(0, 1), 0, slots, out=self._k[:n])
        if self._shape.latent:
            return k, self._v[:n]
        return k, select(self._pool.v[layer].flatten(0, 1), 0, slots, out=self._v[:n])

    def _decoded(self, group: _Group, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """One token a request. Query heads that share K/V stand where tokens would: nothing is repeated."""
        shared = q.unflatten(1, (self._shape.kv_heads, -1))
        from torch.nn.functional import scaled_dot_product_attention as attend

        result: torch.Tensor = attend(shared, k, v, attn_mask=group.mask).flatten(1, 2)
        return result

    def _chunked(self, group: _Group, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Some tokens of one prompt: all of it so far, or behind what is stored already."""
        from torch.nn.functional import scaled_dot_product_attention as attend

        if group.mask is None:
            repeats = self._shape.heads != self._shape.kv_heads
            whole = attend(q.transpose(0, 1)[None], k, v, is_causal=True, enable_gqa=repeats)
            result: torch.Tensor = whole[0].transpose(0, 1)
            return result
        # With a mask, kernels that need little memory take no repeated heads: they stand one behind another.
        sharing = self._shape.heads // self._shape.kv_heads
        shared = q.unflatten(1, (-1, sharing)).permute(1, 2, 0, 3).flatten(1, 2)[None]
        read = attend(shared, k, v, attn_mask=group.mask.repeat(1, 1, sharing, 1))
        apart: torch.Tensor = read[0].unflatten(1, (sharing, -1)).permute(2, 0, 1, 3)
        return apart.flatten(1, 2)

    # ---- what to read

    def _decodes(self, batch: OnDevice, rows: Rows) -> _Group:
        import torch

        longest = int(batch.host.contexts[rows].max())
        even = bool((batch.host.contexts[rows] == longest).all())
        at = torch.as_tensor(rows, device=self._device)
        slots, seen = self._slots(batch, at, longest)
        tokens = batch.offsets[at].long()
        return _Group(tokens, slots.flatten(), None if even else seen[:, None, None], 1, longest)

    def _chunk(self, batch: OnDevice, row: int) -> _Group:
        import torch

        host = batch.host
        first, count, longest = int(host.offsets[row]), int(host.counts[row]), int(host.contexts[row])
        slots, _ = self._slots(batch, torch.tensor([row], device=self._device), longest)
        tokens = torch.arange(first, first + count, device=self._device)
        mask = None
        if count < longest:
            at = torch.arange(longest, device=self._device)
            mask = (at <= batch.positions[first : first + count, None])[None, None]
        return _Group(tokens, slots.flatten(), mask, count, longest)

    def _slots(self, batch: OnDevice, rows: torch.Tensor, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Slots [rows, longest] of the contexts of some requests, and which of them are theirs."""
        import torch

        unit = self._pool.unit
        at = torch.arange(longest, device=self._device)
        own = at < batch.contexts[rows, None]
        slots = batch.tables[rows][:, at // unit].long() * unit + at % unit
        return torch.where(own, slots, 0), own


def _alike(rows: Rows, contexts: Rows, room: int) -> list[Rows]:
    """Rows (longest context first) in groups that fit into `room` and waste at most a third of it."""
    groups: list[list[int]] = []
    for row in rows.tolist():
        longest = contexts[groups[-1][0]] if groups else 0
        fits = groups and (len(groups[-1]) + 1) * longest <= room and 3 * contexts[row] >= 2 * longest
        if fits:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [np.array(group) for group in groups]
