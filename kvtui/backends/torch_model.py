"""A decoder that is nothing but attention: real K/V of a model's shape behind a narrow stream.

Every token that it would say depends on every K/V that it reads, so what it computes tells whether block
tables mean what they say. Weights are random and fixed; nothing has to be downloaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.backends.batch import VOCABULARY
from kvtui.backends.torch_device import Device
from kvtui.backends.torch_pool import Shape

if TYPE_CHECKING:
    import torch

WIDTH = 64  # of the stream: small, so that the time is that of attention
SEED = 20
ROTARY_BASE = 10_000.0
PIECE = 256  # tokens computed in one go: on the way to a query it takes several times its size


class Decoder:
    """The weights, on a device. The stream is kept in 32 bits, K/V in the device's type."""

    def __init__(self, device: Device, shape: Shape, *, layers: int) -> None:
        import torch

        random = torch.Generator().manual_seed(SEED)

        def weights(rows: int, columns: int) -> torch.Tensor:
            drawn = torch.randn(rows, columns, generator=random) * rows**-0.5
            result: torch.Tensor = drawn.to(device.device)
            return result

        self.shape = shape
        self.layers = layers
        self._dtype = device.dtype
        self._embedding = torch.randn(VOCABULARY, WIDTH, generator=random).to(device.device)
        self._query = [weights(WIDTH, shape.heads * shape.key_dim) for _ in range(layers)]
        self._key = [weights(WIDTH, shape.kv_heads * shape.key_dim) for _ in range(layers)]
        self._value = [weights(WIDTH, shape.kv_heads * shape.value_dim) for _ in range(layers)]
        self._out = [weights(shape.heads * shape.value_dim, WIDTH) for _ in range(layers)]
        half = torch.arange(0, shape.key_dim - 1, 2, dtype=torch.float32) / shape.key_dim
        self._frequencies = (ROTARY_BASE**-half).to(device.device)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """The stream [T, width] of tokens [T]."""
        return self._embedding[ids]

    def qkv(
        self, layer: int, stream: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries [T, heads, dim], keys and values [T, kv heads, dim] of tokens at `positions` [T]."""
        shape = self.shape
        q = stream.new_empty(len(stream), shape.heads, shape.key_dim, dtype=self._dtype)
        k = stream.new_empty(len(stream), shape.kv_heads, shape.key_dim, dtype=self._dtype)
        v = k[..., : shape.value_dim]
        if not shape.latent:
            v = stream.new_empty(len(stream), shape.kv_heads, shape.value_dim, dtype=self._dtype)
        for part in _parts(len(stream)):
            x, angles = _normed(stream[part]), positions[part, None, None] * self._frequencies
            turn = angles.cos(), angles.sin()
            q[part] = _turned((x @ self._query[layer]).unflatten(-1, q.shape[1:]), turn)
            k[part] = _turned((x @ self._key[layer]).unflatten(-1, k.shape[1:]), turn)
            if not shape.latent:
                v[part] = (x @ self._value[layer]).unflatten(-1, v.shape[1:])
        return q, k, v

    def absorb(self, layer: int, stream: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
        """The stream behind a layer whose attention gave `read` [T, heads, dim]."""
        import torch

        said = [read[part].flatten(1).float() @ self._out[layer] for part in _parts(len(read))]
        return stream + torch.cat(said)

    def logits(self, stream: torch.Tensor) -> torch.Tensor:
        """What each token would say next: [T, vocabulary]."""
        return _normed(stream) @ self._embedding.T


def _parts(tokens: int) -> list[slice]:
    return [slice(at, at + PIECE) for at in range(0, tokens, PIECE)]


def _normed(x: torch.Tensor) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


def _turned(x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotary positions (Su et al., 2021): pairs of numbers turned by an angle that grows with the place. One
    that is left over stays."""
    import torch

    cos, sin = turn
    half = cos.shape[-1]
    a, b, rest = x.split((half, half, x.shape[-1] - 2 * half), -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos, rest), -1)
