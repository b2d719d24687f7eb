"""What tokens cost. Prices are the user's; the catalogue has examples with their date."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvtui.hardware.catalogue import GpuSpec

HOURS_A_MONTH = 730
_MILLION = 1_000_000


class Rate(NamedTuple):
    """Dollars an hour for one GPU and where the figure is from."""

    usd_per_gpu_hour: float
    source: str

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return {"usd_per_gpu_hour": self.usd_per_gpu_hour, "source": self.source}


def rate(gpu: GpuSpec, price: float | None = None) -> Rate | None:
    """The user's price, or the middle of the catalogue's example; None where there is neither."""
    if price is not None:
        return Rate(price, "given")
    example = gpu.usd_per_hour
    if example is None:
        return None
    middle = round((example.low + example.high) / 2, 4)
    return Rate(middle, f"example of {example.as_of}: {example.low:g} to {example.high:g}, {example.basis}")


def gpu_hours_per_million_tokens(*, gpus: int, tokens_per_s: float | None) -> float | None:
    """GPU hours that a million generated tokens take; None where the speed is not known."""
    return gpus * _MILLION / tokens_per_s / 3600 if tokens_per_s else None


def usd_per_million_tokens(rate: Rate | None, *, gpus: int, tokens_per_s: float | None) -> float | None:
    """Dollars for a million generated tokens; None where price or speed is not known."""
    hours = gpu_hours_per_million_tokens(gpus=gpus, tokens_per_s=tokens_per_s)
    return None if rate is None or hours is None else rate.usd_per_gpu_hour * hours


def waste_usd_per_month(rate: Rate | None, *, gpus: int, share: float) -> float | None:
    """Dollars a month for GPUs in proportion to the share of KV memory that is held for nothing.

    A figure of comparison, not a bill: as if the pool were all that a GPU is rented for.
    """
    return None if rate is None else rate.usd_per_gpu_hour * gpus * HOURS_A_MONTH * share
