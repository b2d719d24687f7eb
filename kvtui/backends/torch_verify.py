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
from kvtui.backends.torch_pool import TensorPool
from kvtui.serving.request import Request

if TYPE_CHECKING:
    import torch

# Largest difference by type of the K/V, whose numbers are of the order of 1. Rounding makes 1e-6, 6e-3 and
# 5e-2 of it; a planted bug 0.4 and more.
TOLERANCE = {"float32": 1e-4, "float16": 3e-2, "bfloat16": 2e-1}


class Alone(NamedTuple):
    """A request's first tokens computed in one pass that stores nothing."""

    stream: torch.Tensor  # [tokens, width]
    keys: list[torch.Tensor]  # of each layer, [tokens, kv heads, dim]
    values: list[torch.Tensor]


class Verifier:
    """Counts requests checked, and requests that read something else than their own context."""

    def __init__(self, decoder: Decoder, device: Device, pool: TensorPool, tokens: TokenIds) -> None:
        self._decoder = decoder
        self._device = device
        self._pool = pool
        self.tokens = tokens
        self._tolerance = TOLERANCE[str(device.dtype).removeprefix("torch.")]
        self.checked = 0
        self.failed = 0
        self.first: str | None = None  # the first failure, in words
        self.difference = 0.0  # the largest one that passed

    def check(self, batch: Batch, stream: torch.Tensor) -> None:
        """Compare all that a step read and computed; `stream` [T, width] is that of its tokens."""
        import torch

        for at, request in enumerate(batch.requests):
            start, first = int(batch.starts[at]), int(batch.offsets[at])
            upto = min(start + int(batch.counts[at]), self.tokens.length(request))
            if upto > start:  # drafts behind the last token mean nothing
                alone = self.alone(request, upto)
                apart = self._stored_apart(batch, at, alone)
                computed = _apart(stream[first : first + upto - start], alone.stream[start:])
                apart[start:] = torch.maximum(apart[start:], computed)
                self._judge(request, apart, stream[first + upto - start - 1], alone.stream[-1])

    def alone(self, request: Request, upto: int) -> Alone:
        """The first `upto` tokens of a request without any cache."""
        import torch

        shape = self._decoder.shape
        ids = torch.as_tensor(self.tokens.of(request, upto), dtype=torch.int64).to(self._device.device)
        positions = torch.arange(upto, device=self._device.device)
        stream, keys, values = self._decoder.embed(ids), [], []
        for layer in range(self._decoder.layers):
            q, k, v = self._decoder.qkv(layer, stream, positions)
            keys.append(k)
            values.append(v)
            read = torch.nn.functional.scaled_dot_product_attention(
                *(x.transpose(0, 1)[None] for x in (q, k, v)),
                is_causal=True,
                enable_gqa=shape.heads != shape.kv_heads,
            )
            stream = self._decoder.absorb(layer, stream, read[0].transpose(0, 1))
        return Alone(stream, keys, values)

    def _stored_apart(self, batch: Batch, at: int, alone: Alone) -> torch.Tensor:
        """[tokens] by how much the K/V that the table points to differs from the request's own."""
        import torch

        unit = batch.unit
        places = torch.arange(len(alone.stream))
        table = torch.as_tensor(batch.tables[at], dtype=torch.int64)
        slots = (table[places // unit] * unit + places % unit).to(self._device.device)
        apart = torch.zeros(len(places), device=self._device.device)
        for layer, (k, v) in enumerate(zip(alone.keys, alone.values, strict=True)):
            stored = self._pool.k[layer].flatten(0, 1)[slots], self._pool.v[layer].flatten(0, 1)[slots]
            for got, wanted in zip(stored, (k, v), strict=True):
                apart = torch.maximum(apart, _apart(got.flatten(1), wanted.flatten(1)))
        return apart

    def _judge(self, request: Request, apart: torch.Tensor, got: torch.Tensor, wanted: torch.Tensor) -> None:
        self.checked += 1
        wrong = ~(apart <= self._tolerance)  # what is no number is wrong as well
        if bool(wrong.any()):
            self._fail(f"request {request.number} reads a wrong slot at token {int(wrong.nonzero()[0])}")
        elif not self._says_the_same(got, wanted):
            self._fail(f"request {request.number} would say another token")
        else:
            self.difference = max(self.difference, float(apart.max()))

    def _says_the_same(self, got: torch.Tensor, wanted: torch.Tensor) -> bool:
        """Exactly, unless two tokens are as likely to a rounding error."""
        said, logits = self._decoder.logits(got).argmax(), self._decoder.logits(wanted)
        return bool(logits.max() - logits[said] <= 10 * self._tolerance)

    def _fail(self, words: str) -> None:
        self.failed += 1
        self.first = self.first or words


def _apart(got: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Largest difference in each row; no number where there is none."""
    return (got.float() - wanted.float()).abs().amax(-1)
