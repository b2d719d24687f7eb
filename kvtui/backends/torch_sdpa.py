"""Scaled dot-product attention of a stretch of one request's tokens, in a bounded working space.

Where a mask is needed it is made for a few queries at a time: one for all of a long prompt's chunk would take
more memory than the K/V it hides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.backends.torch_device import Device
from kvtui.backends.torch_pool import Shape

if TYPE_CHECKING:
    import torch

CPU_SPACE, SPACE = 16 << 20, 64 << 20  # bytes of a mask and of what a kernel makes of it
LEAST_QUERIES, MOST_QUERIES = 8, 256  # in one call, however long or short the context
LEAN_DIM = 256  # of a head: the largest that kernels take which keep no scores
SCORES = 12  # bytes of a score where they are kept: as they are, in 32 bits, and as weights


class Sdpa:
    """Attention of one shape on one device."""

    def __init__(self, device: Device, shape: Shape) -> None:
        self._shape = shape
        self._itemsize = int(device.dtype.itemsize)
        self.space = CPU_SPACE if device.on_cpu else SPACE
        fits = shape.key_dim == shape.value_dim <= LEAN_DIM and (device.on_cpu or shape.key_dim % 8 == 0)
        self.lean = fits and device.kind in ("cpu", "cuda")  # whether a kernel keeps no scores

    def chunk(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, start: int, window: int | None = None
    ) -> torch.Tensor:
        """What queries [T, heads, dim] read of K and V [1, kv heads, S, dim], where they are tokens `start`
        to S of these: [T, heads, dim]. Each sees all before it and itself, or the last `window`."""
        from torch.nn.functional import scaled_dot_product_attention as attend

        if self.lean and start == 0 and (window is None or window >= len(q)):
            repeats = self._shape.heads != self._shape.kv_heads
            whole: torch.Tensor = attend(q.transpose(0, 1)[None], k, v, is_causal=True, enable_gqa=repeats)
            return whole[0].transpose(0, 1)
        out = q.new_empty(len(q), self._shape.heads, self._shape.value_dim)
        queries = self.queries(k.shape[2])
        for at in range(0, len(q), queries):
            some = q[at : at + queries]
            out[at : at + queries] = self._masked(some, k, v, start + at, window)
        return out

    def queries(self, context: int) -> int:
        """How many are done in one call."""
        return min(max(self.space // (context * self._pair_bytes), LEAST_QUERIES), MOST_QUERIES)

    def bytes(self, context: int) -> int:
        """The most that a call takes beside its operands."""
        return max(self.space, LEAST_QUERIES * context * self._pair_bytes)

    @property
    def _pair_bytes(self) -> int:
        """Of a query and a key: two masks, one repeated for the heads that share K/V, and that as numbers to
        add, which may be laid out anew."""
        sharing = self._shape.heads // self._shape.kv_heads
        mask = 2 + sharing * (1 + 2 * self._itemsize)
        return mask if self.lean else mask + SCORES * self._shape.heads

    def _masked(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, start: int, window: int | None
    ) -> torch.Tensor:
        """Kernels that need little memory take no repeated heads beside a mask: they stand one behind
        another."""
        from torch.nn.functional import scaled_dot_product_attention as attend

        end, first = start + len(q), 0 if window is None else max(start + 1 - window, 0)
        sharing = self._shape.heads // self._shape.kv_heads
        shared = q.unflatten(1, (-1, sharing)).permute(1, 2, 0, 3).flatten(1, 2)[None]
        mask = _seen(q, start, first, end, window).repeat(sharing, 1)
        read = attend(shared, k[:, :, first:end], v[:, :, first:end], attn_mask=mask)
        apart: torch.Tensor = read[0].unflatten(1, (sharing, -1)).permute(2, 0, 1, 3)
        return apart.flatten(1, 2)


def _seen(q: torch.Tensor, start: int, first: int, end: int, window: int | None) -> torch.Tensor:
    """[queries, keys] which of the keys `first` to `end` queries from `start` on see."""
    import torch

    asking = torch.arange(start, end, device=q.device)[:, None]
    keys = torch.arange(first, end, device=q.device)
    seen = keys <= asking
    return seen if window is None else seen.logical_and_(keys > asking - window)
