"""Proof of meaning: what a request reads through its block table is what a pass without any cache computes.

Two things are compared: the K/V that stands where the table points, place by place, and what attention over
it makes of every token that a step computes. The first alone would miss a kernel that reads wrongly, the
second alone two blocks in the wrong order: attention sees a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kvtui.backends.batch import Batch, TokenIds
from kvtui.backends.torch_device import Device
from kvtui.backends.torch_model import Decoder
from kvtui.backends.torch_planes import Plane, seen_by
from kvtui.backends.torch_pool import Room, TensorPool
from kvtui.backends.torch_sdpa import Sdpa
from kvtui.serving.request import Request

if TYPE_CHECKING:
    import torch

# Largest difference by type of the K/V, whose numbers are of the order of 1 and seldom above 4. Rounding
# makes 1e-6, 6e-3 and 5e-2 of it; a planted bug 0.4 and more. Where 8 bits are stored, both sides are rounded
# to them, and a number between two of theirs may go either way: up to 0.5 from 4 on. Whoever reads a wrong
# token is off by several times that somewhere in its row.
TOLERANCE = {
    "float32": 1e-4,
    "float16": 3e-2,
    "bfloat16": 2e-1,
    "fp8": 7e-1,
    "fp8_per_token_head": 7e-1,
    "int8_per_token_head": 2e-1,
}


class Alone(NamedTuple):
    """A request's first tokens computed in one pass that stores nothing."""

    stream: torch.Tensor  # [tokens, width]
    keys: list[torch.Tensor]  # of each layer, [tokens, kv heads, dim]
    values: list[torch.Tensor]


class Verifier:
    """Counts requests checked, and requests that read something else than their own context."""

    def __init__(
        self,
        decoder: Decoder,
        device: Device,
        pool: TensorPool,
        tokens: TokenIds,
        planes: tuple[Plane, ...],
    ) -> None:
        self._decoder = decoder
        self._device = device
        self._pool = pool
        self._sdpa = Sdpa(device, decoder.shape)
        self._planes = planes
        self.tokens = tokens
        self.tolerance = TOLERANCE[pool.kind.tolerance_of]
        self.checked = 0
        self.failed = 0
        self.first: str | None = None  # the first failure, in words
        self.difference = 0.0  # the largest one that passed

    def check(self, batch: Batch, stream: torch.Tensor) -> None:
        """Compare all that a step read and computed; `stream` [T, width] is that of its tokens."""
        import torch

        views = seen_by(self._planes, batch)
        for at, request in enumerate(batch.requests):
            start, first = int(batch.starts[at]), int(batch.offsets[at])
            upto = min(start + int(batch.counts[at]), self.tokens.length(request))
            if upto > start:  # drafts behind the last token mean nothing
                alone = self.alone(request, upto)
                apart = torch.zeros(upto, device=self._device.device)
                for plane, view in zip(self._planes, views, strict=True):
                    reads = apart[int(view.first[at]) :]
                    torch.maximum(reads, self._stored_apart(plane, view, at, alone), out=reads)
                computed = _apart(stream[first : first + upto - start], alone.stream[start:])
                apart[start:] = torch.maximum(apart[start:], computed)
                self._judge(request, apart, stream[first + upto - start - 1], alone.stream[-1])

    def alone(self, request: Request, upto: int) -> Alone:
        """The first `upto` tokens of a request without any cache."""
        import torch

        ids = torch.as_tensor(self.tokens.of(request, upto), dtype=torch.int64).to(self._device.device)
        positions = torch.arange(upto, device=self._device.device)
        stream, keys, values = self._decoder.embed(ids), [], []
        for plane in self._planes:
            for layer in plane.layers:
                q, k, v = self._decoder.qkv(layer, stream, positions)
                k, v = self._as_stored(k, v)
                keys.append(k)
                values.append(v)
                alone = (x.transpose(0, 1)[None] for x in (k, v))
                read = self._sdpa.chunk(q, *alone, start=0, window=plane.window)
                stream = self._decoder.absorb(layer, stream, read)
        return Alone(stream, keys, values)

    def _as_stored(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Rounded as they are in memory, where that is coarser than what is computed."""
        kind, shape = self._pool.kind, self._decoder.shape
        k = kind.rounded(k)
        return k, k[..., : shape.value_dim] if shape.latent else kind.rounded(v)

    def _stored_apart(self, plane: Plane, batch: Batch, at: int, alone: Alone) -> torch.Tensor:
        """[tokens that are read] by how much the K/V that the table points to differs from the request's
        own."""
        import torch

        unit, first = batch.unit, int(batch.first[at])
        places = torch.arange(first, len(alone.stream))
        table = torch.as_tensor(batch.tables[at], dtype=torch.int64)
        slots = (table[places // unit] * unit + places % unit).to(self._device.device)
        room = Room(self._device, self._decoder.shape, self._pool.kind, len(slots))
        apart = torch.zeros(len(places), device=self._device.device)
        for layer in plane.layers:
            stored = self._pool.gather(plane.place(layer), slots, room)
            for got, wanted in zip(stored, (alone.keys[layer], alone.values[layer]), strict=True):
                apart = torch.maximum(apart, _apart(got.flatten(1), wanted[first:].flatten(1)))
        return apart

    def _judge(self, request: Request, apart: torch.Tensor, got: torch.Tensor, wanted: torch.Tensor) -> None:
        self.checked += 1
        wrong = ~(apart <= self.tolerance)  # what is no number is wrong as well
        if bool(wrong.any()):
            self.fail(f"request {request.number} reads a wrong slot at token {int(wrong.nonzero()[0])}")
        elif not self._says_the_same(got, wanted):
            self.fail(f"request {request.number} would say another token")
        else:
            self.difference = max(self.difference, float(apart.max()))

    def _says_the_same(self, got: torch.Tensor, wanted: torch.Tensor) -> bool:
        """Exactly, unless two tokens are as likely to a rounding error."""
        said, logits = self._decoder.logits(got).argmax(), self._decoder.logits(wanted)
        return bool(logits.max() - logits[said] <= 10 * self.tolerance)

    def fail(self, words: str) -> None:
        """Note a failure."""
        self.failed += 1
        self.first = self.first or words


def _apart(got: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Largest difference in each row; no number where there is none."""
    return (got.float() - wanted.float()).abs().amax(-1)
