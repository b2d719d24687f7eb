"""How many requests kept the limits, as it is told everywhere."""

from __future__ import annotations


def kept_text(share: float | None) -> str:
    """`26.6%` of a share from 0 to 1: cut and not rounded, as 99.96 % are not all; `n/a` of None."""
    if share is None:
        return "n/a"
    thousandths = int(1000 * share + 1e-3)  # reports keep six digits of a share
    return "100%" if thousandths == 1000 else f"{thousandths // 10}.{thousandths % 10}%"
