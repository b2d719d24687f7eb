"""Types that K/V is stored in: how numbers get into them and back.

As vLLM stores them: `fp8` is e4m3 with one scale for the whole cache, which is 1 where a model brings none;
the types `..._per_token_head` have a scale for each token and head beside the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kvtui.backends.torch_device import Device
from kvtui.errors import ConfigError

if TYPE_CHECKING:
    import torch

E4M3_MOST = 448.0  # the largest number of its format
INT8_MOST = 127.0
NAN = 0x7F  # of e4m3
SCALE_BYTES = 4
LEAST = 1e-12  # a scale is never 0
SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
ROUNDED = ("fp8", "fp8_per_token_head", "int8_per_token_head")


class Encoded(NamedTuple):
    """K or V of some tokens as it is stored."""

    data: torch.Tensor  # [T, heads, dim]
    scales: torch.Tensor | None  # [T, heads]


class KvType:
    """One type on one device: `stored` is what tensors of it hold, `plain` what attention computes in."""

    def __init__(self, name: str, device: Device) -> None:
        """Raises ConfigError for a type that there are no tensors of."""
        import torch

        plain = {"auto": device.dtype, "bf16": torch.bfloat16, "fp16": torch.float16}
        if name not in plain and name not in ROUNDED:
            raise ConfigError(
                f"there are no tensors of {name}",
                hint=f"one of {', '.join([*plain, *ROUNDED])}, or let that lane be simulated",
            )
        if name in ROUNDED and device.kind == "mps":
            raise ConfigError(f"an Apple GPU has no tensors of {name}", hint="leave kv_dtype out")
        self.name = name
        self.plain = device.dtype
        self.bits8 = name in ROUNDED
        self.scaled = name.endswith("_per_token_head")
        self.stored = plain.get(name, torch.int8 if name.startswith("int8") else torch.uint8)

    @property
    def same(self) -> bool:
        """Whether what is stored is what attention computes in."""
        return bool(self.stored == self.plain)

    @property
    def dtype_name(self) -> str:
        """As torch calls it."""
        return "float8_e4m3fn" if self._is_fp8 else str(self.stored).removeprefix("torch.")

    @property
    def short(self) -> str:
        """As tables of step times call it."""
        return self.name if self.bits8 else SHORT[self.dtype_name]

    @property
    def tolerance_of(self) -> str:
        """The name that the tolerance of what is read goes by: that of the coarser type."""
        coarser = self.stored if self.stored.itemsize < self.plain.itemsize else self.plain
        return self.name if self.bits8 else str(coarser).removeprefix("torch.")

    def bytes(self, numbers: int, heads: int) -> int:
        """Of `numbers` numbers of K and V of one token, in so many heads."""
        return numbers * int(self.stored.itemsize) + (2 * heads * SCALE_BYTES if self.scaled else 0)

    def encode(self, x: torch.Tensor) -> Encoded:
        """K or V [T, heads, dim] as it is stored."""
        if not self.bits8:
            return Encoded(x.to(self.stored), None)
        scales = None
        if self.scaled:
            scales = (x.float().abs().amax(-1) / self._most).clamp_min(LEAST)
            x = x / scales[..., None]
        x = x.float().clamp(-self._most, self._most)
        return Encoded(self._in_bytes(x), scales)

    def decode(self, data: torch.Tensor, scales: torch.Tensor | None, out: torch.Tensor) -> torch.Tensor:
        """Put what is stored into `out` as numbers."""
        out.copy_(self._as_numbers(data))
        return out if scales is None else out.mul_(scales[..., None])

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        """K or V as it comes back out of memory."""
        return x if self.same else self.decode(*self.encode(x), x.new_empty(x.shape, dtype=self.plain))

    def poison(self, stored: torch.Tensor, at: torch.Tensor) -> None:
        """Let units `at` of [layers, units, ...] hold no numbers. Bytes without such a value have scales,
        which are no numbers then."""
        if stored.dtype.is_floating_point:
            stored.index_fill_(1, at, float("nan"))
        elif self._is_fp8:
            stored.index_fill_(1, at, NAN)

    @property
    def _is_fp8(self) -> bool:
        return self.bits8 and self.name.startswith("fp8")

    @property
    def _most(self) -> float:
        return E4M3_MOST if self._is_fp8 else INT8_MOST

    def _in_bytes(self, x: torch.Tensor) -> torch.Tensor:
        import torch

        if self._is_fp8:
            return x.to(torch.float8_e4m3fn).view(torch.uint8)
        return x.round().to(torch.int8)

    def _as_numbers(self, data: torch.Tensor) -> torch.Tensor:
        import torch

        return data.view(torch.float8_e4m3fn) if self._is_fp8 else data
