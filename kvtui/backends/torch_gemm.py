"""A model's matrix products: real sizes, weights that mean nothing, one layer's used for all of them.

With these and K/V in every layer, a step takes what a step of the model takes but for sampling and its host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.backends.torch_device import Device
from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import ModelSpec

if TYPE_CHECKING:
    import torch

SCALE = 0.02  # of the weights; their values cost nothing, but zeros would be quicker than any model


def weight_bytes(device: Device, model: ModelSpec, *, tp: int, tokens: int) -> int:
    """Bytes of the weights on one of `tp` GPUs, of inputs of up to `tokens` tokens, and of what a product of
    these gives."""
    sizes = _sizes(model, tp).values()
    numbers = sum(rows * columns for rows, columns in sizes)
    widest = max(rows for rows, _ in sizes) + max(columns for _, columns in sizes)
    return (numbers + tokens * widest) * int(device.dtype.itemsize)


class Products:
    """The products of one layer, and those of the last step from a token to the vocabulary."""

    def __init__(self, device: Device, model: ModelSpec, *, tp: int, tokens: int) -> None:
        """`tokens` = most that one step computes. Raises ConfigError for a mixture of experts."""
        import torch

        if model.moe is not None:
            raise ConfigError(
                f"{model.label} is a mixture of experts, whose matrix products are not carried out",
                hint="leave --gemm out, or choose a dense model",
            )
        sizes = _sizes(model, tp)
        random = torch.Generator(device.device).manual_seed(1)

        def drawn(rows: int, columns: int) -> torch.Tensor:
            values = torch.randn(rows, columns, generator=random, device=device.device, dtype=device.dtype)
            result: torch.Tensor = values.mul_(SCALE)
            return result

        self._layer = [drawn(*size) for name, size in sizes.items() if name != "vocabulary"]
        self._vocabulary = drawn(*sizes["vocabulary"])
        self._input = drawn(tokens, max(rows for rows, _ in sizes.values()))

    def layer(self, tokens: int) -> None:
        """All products of one layer for so many tokens."""
        for weight in self._layer:
            self._times(tokens, weight)

    def vocabulary(self, requests: int) -> None:
        """What every request may say next."""
        self._times(requests, self._vocabulary)

    def _times(self, tokens: int, weight: torch.Tensor) -> None:
        """So many rows, in parts where a step computes more tokens than were foreseen."""
        for start in range(0, tokens, len(self._input)):
            self._input[: tokens - start, : weight.shape[0]] @ weight


def _sizes(model: ModelSpec, tp: int) -> dict[str, tuple[int, int]]:
    """Rows and columns of each weight on one of `tp` GPUs."""
    read = model.heads // tp * model.head_dim
    stored = max(1, model.kv_heads // tp) * model.head_dim
    inner = model.intermediate // tp
    return {
        "qkv": (model.hidden, read + 2 * stored),
        "out": (read, model.hidden),
        "up": (model.hidden, 2 * inner),
        "down": (inner, model.hidden),
        "vocabulary": (model.hidden, model.vocab // tp),
    }
