"""Attention through block tables with nothing but torch: gather the K/V, then scaled dot-product attention.

Works on any device with any block size. A kernel that reads through the table itself (torch_kernels.py) saves
the copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kvtui.backends.torch_device import Device
from kvtui.backends.torch_pool import Room, TensorPool
from kvtui.backends.torch_sdpa import Sdpa

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
    """Queries that read one gather: one token of each of some decodes, or the chunk of a prompt."""

    tokens: torch.Tensor | slice  # places in the batch
    slots: torch.Tensor  # [requests * longest] slots to gather, that of nobody where a context is shorter
    longest: int
    mask: torch.Tensor | None = None  # of decodes, [requests, 1, 1, longest] what may be seen; None = all
    start: int | None = None  # of a chunk, tokens before it that are read


class GatherAttention:
    """Copies the K/V of a few requests at a time into buffers of `room` tokens, and attends there.

    Decodes of like context go together; a prompt's chunk goes alone.
    """

    name = "gather + SDPA"

    def __init__(self, device: Device, pool: TensorPool, *, room: int) -> None:
        self._device = device.device
        self._pool = pool
        self._shape = pool.shape
        self.room = Room(device, pool.shape, pool.kind, room)
        self._sdpa = Sdpa(device, pool.shape)
        self._window: int | None = None
        self._groups: list[_Group] = []

    def prepare(self, batch: OnDevice) -> None:
        self._window = batch.host.window
        counts, reads = batch.host.counts, self._reads(batch.host)
        decodes = np.flatnonzero(counts == 1)
        decodes = decodes[np.argsort(-reads[decodes], kind="stable")]
        self._groups = [self._decodes(batch, rows) for rows in _alike(decodes, reads, self.room.tokens)]
        self._groups += [self._chunk(batch, int(row)) for row in np.flatnonzero(counts > 1)]

    def attend(self, layer: int, q: torch.Tensor) -> torch.Tensor:
        out = q.new_empty(len(q), self._shape.heads, self._shape.value_dim)
        for group in self._groups:
            k, v = self._pool.gather(layer, group.slots, self.room)
            k, v = (x.unflatten(0, (-1, group.longest)).transpose(1, 2) for x in (k, v))
            if group.start is None:
                out[group.tokens] = self._decoded(group, q[group.tokens], k, v)
            else:
                asked, window = q[group.tokens], self._window
                out[group.tokens] = self._sdpa.chunk(asked, k, v, start=group.start, window=window)
        return out

    def _decoded(self, group: _Group, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """One token a request. Query heads that share K/V stand where tokens would: nothing is repeated."""
        from torch.nn.functional import scaled_dot_product_attention as attend

        shared = q.unflatten(1, (self._shape.kv_heads, -1))
        result: torch.Tensor = attend(shared, k, v, attn_mask=group.mask).flatten(1, 2)
        return result

    # ---- what to read

    def _decodes(self, batch: OnDevice, rows: Rows) -> _Group:
        import torch

        reads = self._reads(batch.host)[rows]
        longest = int(reads.max())
        at = torch.as_tensor(rows, device=self._device)
        slots, own = self._slots(batch, rows, longest)
        mask = None
        if int(reads.min()) < longest or batch.host.window is not None:
            mask = own[:, None, None]
        return _Group(batch.offsets[at].long(), slots.flatten(), longest, mask)

    def _chunk(self, batch: OnDevice, row: int) -> _Group:
        host = batch.host
        begin, count, first = int(host.offsets[row]), int(host.counts[row]), int(self._first(host)[row])
        longest = int(host.contexts[row]) - first
        slots, _ = self._slots(batch, np.array([row]), longest)
        start = int(host.starts[row]) - first
        return _Group(slice(begin, begin + count), slots.flatten(), longest, start=start)

    def _first(self, host: Batch) -> Rows:
        """[R] where the reading of each request begins: with the unit in which its window does."""
        return host.first // host.unit * host.unit

    def _reads(self, host: Batch) -> Rows:
        """[R] tokens that are gathered for each request."""
        result: Rows = host.contexts - self._first(host)
        return result

    def _slots(self, batch: OnDevice, rows: Rows, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Slots [rows, longest] that some requests read, and which of these are their own and in sight.
        Behind their ends it is the slot of nobody."""
        import torch

        unit, host = self._pool.unit, batch.host
        at = torch.as_tensor(rows, device=self._device)
        units = torch.arange(-(-longest // unit), dtype=torch.int32, device=self._device)
        places = torch.arange(longest, dtype=torch.int32, device=self._device)
        table, contexts = batch.tables[at], batch.contexts[at, None]
        if host.window is None:
            table, own = table[:, : len(units)], places < contexts
        else:
            skipped = torch.as_tensor(self._first(host)[rows, None], dtype=torch.int32, device=self._device)
            columns = (skipped // unit + units).clamp_max(table.shape[1] - 1)
            table = table.gather(1, columns.long())
            first = torch.as_tensor(host.first[rows, None], device=self._device)
            places = skipped + places
            own = (places < contexts) & (places >= first)
        slots = (table[..., None] * unit + units.new_tensor(range(unit))).flatten(1)[:, :longest]
        return slots.masked_fill_(places >= contexts, 0), own


def _alike(rows: Rows, reads: Rows, room: int) -> list[Rows]:
    """Rows (those that read most first) in groups that fit into `room` and waste at most a third of it."""
    groups: list[list[int]] = []
    for row in rows.tolist():
        longest = reads[groups[-1][0]] if groups else 0
        fits = groups and (len(groups[-1]) + 1) * longest <= room and 3 * reads[row] >= 2 * longest
        if fits:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [np.array(group) for group in groups]
